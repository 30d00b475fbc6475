import { PASSWORD, createDatabase } from './database.ts';
import { type PostgresServer, startPostgres } from './postgres-server.ts';
import { run, readText } from './program.ts';

/**
 * Starts a PostgreSQL server with the roles of production, and with the migrated database that createDatabase copies.
 */
export async function startMigratedPostgres(): Promise<PostgresServer> {
  const server = await startPostgres();
  const template = await createDatabase({
    migrated: false,
    name: 'template_orders',
    server: server.url,
  });
  await template.query(readText('deploy/database/1-roles.sql'));
  for (const role of ['order_lookup_owner', 'order_lookup_service'])
    await template.query(`alter role ${role} password '${PASSWORD}'`);
  const { status, stderr } = await run('migrate.js', ['up'], {
    DATABASE_URL: template.urlOf('order_lookup_owner'),
  });
  if (status !== 0) throw new Error(`the template database cannot be migrated: ${stderr}`);
  await template.close();
  return server;
}
