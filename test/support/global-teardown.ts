import type { PostgresServer } from './postgres-server.ts';

export default async function globalTeardown(): Promise<void> {
  await (globalThis as { postgresServer?: PostgresServer }).postgresServer?.remove();
}
