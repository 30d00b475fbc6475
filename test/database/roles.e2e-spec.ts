import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { PASSWORD } from '../support/database.js';
import { runLocally } from '../support/local-program.js';
import { type PostgresServer, startPostgres } from '../support/postgres-server.js';
import { textOf } from '../support/program.js';

const TABLES = ['code_list', 'code_list_value', 'area_property', 'communication_code', 'api_key'];

let server: PostgresServer; // roles belong to the whole server, so it is one of our own
const clients: Client[] = [];
const as: Record<'superuser' | 'service' | 'writer', Client> = {} as never;

const url = (role: string): string =>
  Object.assign(new URL(server.url), { username: role, pathname: '/orders' }).href;
async function connect(connectionString: string): Promise<Client> {
  const client = new Client(connectionString);
  clients.push(client);
  await client.connect();
  return client;
}

/** As a DBA of managed PostgreSQL does it, who is no superuser. */
beforeAll(async () => {
  server = await startPostgres();
  const postgres = await connect(server.url);
  await postgres.query(`create role dba login createrole password '${PASSWORD}'`);
  await postgres.query('create database orders owner dba');
  as.superuser = await connect(url('postgres'));
  const dba = await connect(url('dba'));
  const warned: string[] = [];
  dba.on('notice', ({ message = '' }) => warned.push(message));
  await dba.query(textOf('deploy/database/1-roles.sql'));
  await dba.query(
    `alter role order_lookup_owner password '${PASSWORD}'; alter role order_lookup_service password '${PASSWORD}';
     create role writer login password '${PASSWORD}'; grant connect on database orders to writer`,
  );
  // PostgreSQL 14 warns, and names the remedy
  const [, remedy = ''] = /As that role, run: (.*)$/m.exec(warned.join('\n')) ?? [];
  await as.superuser.query(`${remedy} grant usage on schema public to writer`);
  const up = await runLocally({
    program: 'dist/migrate.js',
    words: ['up'],
    environment: { DATABASE_URL: url('order_lookup_owner') },
  });
  expect(up).toMatchObject({ status: 0, stderr: '' });
  await as.superuser.query(
    `grant select, insert, update, delete, truncate on ${TABLES.join(', ')} to writer;
     grant select on change_history to writer`,
  );
  as.service = await connect(url('order_lookup_service'));
  as.writer = await connect(url('writer'));
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.end()));
  await server.remove();
});

const DENIED = { code: '42501' };
describe('the role of the service', () => {
  it.each([...TABLES, 'revision', 'history', 'pgmigrations', 'api_key_use'])(
    'writes nothing to %s',
    async (table) => {
      for (const sql of ['insert into % default values', 'delete from %', 'truncate %'])
        await expect(as.service.query(sql.replace('%', table))).rejects.toMatchObject(DENIED);
    },
  );

  it('reads what it serves, and creates nothing', async () => {
    for (const table of [...TABLES, 'revision']) await as.service.query(`select * from ${table}`);
    const kinds = ['table t (x int)', 'temporary table t (x int)', 'schema s'];
    for (const what of [...kinds, 'function f() returns int language sql return 1'])
      await expect(as.service.query(`create ${what}`)).rejects.toMatchObject(DENIED);
  });
});

describe('a role that may write the five tables', () => {
  it('sets the stamp and is recorded by its own name, whatever its search_path', async () => {
    await as.superuser.query('grant temporary on database orders to writer');
    await as.writer.query(
      `create temporary table code_list_value (x int);
       create temporary table revision (x int);
       create temporary table history (x int)`,
    );
    await as.writer.query(
      `set search_path = pg_temp;
       insert into public.code_list_value (code_list, value) values ('orderType', 'Transfer')`,
    );
    await as.writer.query('set search_path = public');
    const { rows } = await as.writer.query(
      `select database_user, operation, new_row ->> 'value' as value from change_history order by id desc limit 1`,
    );
    expect(rows).toEqual([{ database_user: 'writer', operation: 'INSERT', value: 'Transfer' }]);
    await as.writer.query('truncate api_key');
  });

  it.each([
    'delete from public.history',
    'insert into public.history (table_name, operation) values ($$api_key$$, $$INSERT$$)',
    'truncate public.history',
    'delete from change_history',
    'update public.revision set stamp = gen_random_uuid()',
    'drop trigger record_insert on api_key',
    'alter table api_key disable trigger all',
    'set session_replication_role = replica',
    `select note_key_use('{}')`,
  ])('cannot change what was recorded: %s', async (sql) => {
    await expect(as.writer.query(sql)).rejects.toMatchObject({
      code: expect.stringMatching(/^(42501|55000)$/), // the view cannot be written to at all
    });
  });

  it('cannot forge history by a table of its own', async () => {
    await as.superuser.query('grant create on schema public to writer');
    await as.writer.query('create table mine (x int)');
    for (const name of ['record_change', 'append_code_list_value', 'append_area_property'])
      await expect(
        as.writer.query(
          `create trigger t after insert on mine for each statement execute function ${name}()`,
        ),
      ).rejects.toMatchObject(DENIED);
  });
});
