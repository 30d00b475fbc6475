import { createDatabase } from './database.ts';
import { startPostgres } from './postgres-server.ts';
import { run } from './program.ts';

/** One PostgreSQL for all test files, with a migrated database that each file gets a copy of. */
export default async function globalSetup(): Promise<void> {
  if (process.env['E2E_BASE_URL']) return;
  const server = await startPostgres();
  Object.assign(globalThis, { postgresServer: server });
  process.env['TEST_POSTGRES_URL'] = server.url;
  const template = await createDatabase({ migrated: false, name: 'template_orders' });
  const { status, stderr } = await run('migrate.js', ['up'], { DATABASE_URL: template.url });
  if (status !== 0) throw new Error(`the template database cannot be migrated: ${stderr}`);
}
