import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, type DatabaseError } from 'pg';
import { PASSWORD } from '../support/database.js';
import { runLine } from '../support/local-program.js';
import { type PostgresServer, startPostgres } from '../support/postgres-server.js';
import { readText } from '../support/program.js';

const TABLES = ['code_list', 'code_list_value', 'area_property', 'communication_code', 'api_key'];

let server: PostgresServer; // a server for this file alone, because roles belong to the whole server
const clients: Client[] = [];
let superuser: Client;
let service: Client;
let writer: Client;

const urlOf = (role: string): string =>
  Object.assign(new URL(server.url), { username: role, pathname: '/orders' }).href;
async function connect(connectionString: string): Promise<Client> {
  const client = new Client(connectionString);
  clients.push(client);
  await client.connect();
  return client;
}

// The role `dba`, which is no superuser, makes the roles, as on managed PostgreSQL
beforeAll(async () => {
  server = await startPostgres();
  const postgres = await connect(server.url);
  await postgres.query(`create role dba login createrole password '${PASSWORD}'`);
  await postgres.query('create database orders owner dba');
  superuser = await connect(urlOf('postgres'));
  const dba = await connect(urlOf('dba'));
  const warned: string[] = [];
  dba.on('notice', ({ message = '' }) => warned.push(message));
  await dba.query(readText('deploy/database/1-roles.sql'));
  await dba.query(
    `alter role order_lookup_owner password '${PASSWORD}'; alter role order_lookup_service password '${PASSWORD}';
     create role writer login password '${PASSWORD}'; grant connect on database orders to writer`,
  );
  // In PostgreSQL 14 a superuser owns the schema public. So 1-roles.sql warns, and prints a statement for the superuser
  const [, remedy = ''] = /As that role, run: (.*)$/m.exec(warned.join('\n')) ?? [];
  await superuser.query(`${remedy} grant usage on schema public to writer`);
  const up = await runLine('migrate up', { DATABASE_URL: urlOf('order_lookup_owner') });
  expect(up).toMatchObject({ status: 0, stderr: '' });
  await superuser.query(
    `grant select, insert, update, delete, truncate on ${TABLES.join(', ')} to writer;
     grant select on change_history to writer`,
  );
  service = await connect(urlOf('order_lookup_service'));
  writer = await connect(urlOf('writer'));
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.end()));
  await server?.remove();
});

const INSUFFICIENT_PRIVILEGE = '42501';
const DENIED = { code: INSUFFICIENT_PRIVILEGE };

/** Returns the statements that PostgreSQL does not refuse for missing rights. */
async function findPermitted(role: Client, statements: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const sql of statements) {
    try {
      await role.query(sql);
      found.push(sql);
    } catch (error) {
      if ((error as DatabaseError).code !== INSUFFICIENT_PRIVILEGE) found.push(sql);
    }
  }
  return found;
}

describe('the role of the service', () => {
  it('may not write to any table', async () => {
    const { rows } = await superuser.query<{ table: string; columns: string[] }>(
      `select c.relname as table, array_agg(a.attname::text) as columns
         from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
         where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' group by 1`,
    );
    const tables = rows.map(({ table }) => table);
    const others = ['revision', 'history', 'pgmigrations', 'api_key_use'];
    expect(tables.toSorted()).toEqual([...TABLES, ...others].toSorted());
    for (const { table, columns } of rows) {
      const statements = [
        `insert into ${table} default values`,
        ...columns.map((column) => `update ${table} set ${column} = default`),
        `delete from ${table}`,
        `truncate ${table}`,
      ];
      expect(await findPermitted(service, statements)).toEqual([]);
    }
  });

  it('may read the tables that it serves, and may not create anything', async () => {
    for (const table of [...TABLES, 'revision']) await service.query(`select * from ${table}`);
    const kinds = ['table t (x int)', 'temporary table t (x int)', 'schema s'];
    for (const what of [...kinds, 'function f() returns int language sql return 1'])
      await expect(service.query(`create ${what}`)).rejects.toMatchObject(DENIED);
  });
});

describe('a role that may write the tables of codes and keys', () => {
  it('changes the revisions of codes and keys, and the change history names it, under any search_path', async () => {
    await superuser.query('grant temporary on database orders to writer');
    await writer.query(
      `create temporary table code_list_value (x int);
       create temporary table revision (x int);
       create temporary table history (x int)`,
    );
    await superuser.query(`insert into api_key (client, key_hash) values ('c', sha256('1'))`);
    const before = await readStamps();
    await writer.query(
      `set search_path = pg_temp;
       insert into public.code_list_value (code_list, value) values ('orderType', 'Transfer')`,
    );
    await writer.query('set search_path = public');
    const { rows } = await writer.query(
      `select database_user, operation, new_row ->> 'value' as value from change_history order by id desc limit 1`,
    );
    expect(rows).toEqual([{ database_user: 'writer', operation: 'INSERT', value: 'Transfer' }]);
    await writer.query('truncate api_key');
    expect(await findChangedTopics(before)).toEqual(['codes', 'keys']);
  });

  interface Stamp {
    readonly topic: string;
    readonly stamp: string;
  }

  async function readStamps(): Promise<Stamp[]> {
    const { rows } = await superuser.query<Stamp>('table public.revision order by topic');
    return rows;
  }

  async function findChangedTopics(before: readonly Stamp[]): Promise<string[]> {
    const former = new Set(before.map(({ stamp }) => stamp));
    const changed = (await readStamps()).filter(({ stamp }) => !former.has(stamp));
    return changed.map(({ topic }) => topic);
  }

  it.each([
    'delete from public.history',
    'insert into public.history (table_name, operation) values ($$api_key$$, $$INSERT$$)',
    'truncate public.history',
    'delete from change_history',
    'update public.revision set stamp = gen_random_uuid()',
    'drop trigger record_insert on api_key',
    'alter table api_key disable trigger all',
    'set session_replication_role = replica',
  ])('may not change history, stamps, or the triggers that write them: %s', async (sql) => {
    await expect(writer.query(sql)).rejects.toMatchObject(DENIED);
  });

  it('may not note the use of a key, which only the service may do', async () => {
    await expect(writer.query(`select note_key_use('{}')`)).rejects.toMatchObject(DENIED);
  });

  it('cannot forge history with a table of its own', async () => {
    await superuser.query('grant create on schema public to writer');
    await writer.query('create table mine (x int)');
    const { rows } = await superuser.query<{ name: string }>(
      `select proname as name from pg_proc
         where pronamespace = 'public'::regnamespace and prorettype = 'trigger'::regtype`,
    );
    expect(rows).toContainEqual({ name: 'record_change' });
    const statements = rows.map(
      ({ name }) => `create trigger t_${name} after insert on mine for each statement execute function ${name}()`,
    );
    expect(await findPermitted(writer, statements)).toEqual([]);
    await writer.query('drop table mine'); // another test lists all tables
  });
});
