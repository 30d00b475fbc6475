import { createDatabase } from './database.ts';
import { type PostgresServer, startPostgres } from './postgres-server.ts';
import { run } from './program.ts';

/** A PostgreSQL server with a migrated database that createDatabase copies. */
export async function startMigratedPostgres(): Promise<PostgresServer> {
  const server = await startPostgres();
  const template = await createDatabase({ migrated: false, name: 'template_orders', server: server.url });
  const { status, stderr } = await run('migrate.js', ['up'], { DATABASE_URL: template.url });
  if (status !== 0) throw new Error(`the template database cannot be migrated: ${stderr}`);
  await template.close();
  return server;
}
