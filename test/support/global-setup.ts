import { assertBuilt } from './build.ts';
import { startMigratedPostgres } from './migrated-postgres.ts';

/** One PostgreSQL for all test files, with a migrated database that each file gets a copy of. */
export default async function globalSetup(): Promise<void> {
  if (process.env['E2E_BASE_URL']) return;
  assertBuilt({ built: 'dist', sources: 'src' });
  const server = await startMigratedPostgres();
  Object.assign(globalThis, { postgresServer: server });
  process.env['TEST_POSTGRES_URL'] = server.url;
}
