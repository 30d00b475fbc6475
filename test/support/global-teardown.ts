import type { PostgresServer } from './postgres-server.ts';

export default async function globalTeardown(): Promise<void> {
  const { postgresServer } = globalThis as { postgresServer?: PostgresServer };
  await postgresServer?.remove();
}
