import { countsInWords } from './contract.ts';
import type { PostgresServer } from './postgres-server.ts';

export default async function globalTeardown(): Promise<void> {
  const { postgresServer } = globalThis as { postgresServer?: PostgresServer };
  if (!postgresServer) return;
  await postgresServer.remove();
  process.stdout.write(countsInWords());
}
