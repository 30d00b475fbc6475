import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { PASSWORD } from '../support/database.js';
import { type PostgresServer, startPostgres } from '../support/postgres-server.js';
import { PROJECT, run } from '../support/program.js';

const DBA = readFileSync(join(PROJECT, 'deploy/database/1-roles.sql'), 'utf8');
const TABLES = ['code_list', 'code_list_value', 'area_property', 'communication_code', 'api_key'];

let server: PostgresServer; // roles belong to the whole server, so it is one of our own
const clients: Client[] = [];
const as: Record<'superuser' | 'owner' | 'service' | 'writer', Client> = {} as never;

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
  await dba.query(DBA);
  for (const role of ['order_lookup_owner', 'order_lookup_service'])
    await dba.query(`alter role ${role} password '${PASSWORD}'`);
  await dba.query(
    `create role writer login password '${PASSWORD}'; grant connect on database orders to writer`,
  );
  // PostgreSQL 14 warns, and names the remedy
  const [, remedy = ''] = /As that role, run: (.*)$/m.exec(warned.join('\n')) ?? [];
  await as.superuser.query(`${remedy} grant usage on schema public to writer`);
  expect(
    await run('migrate.js', ['up'], { DATABASE_URL: url('order_lookup_owner') }),
  ).toMatchObject({ status: 0, stderr: '' });
  await as.superuser.query(
    `grant select, insert, update, delete, truncate on ${TABLES.join(', ')} to writer; grant select on change_history to writer`,
  );
  as.owner = await connect(url('order_lookup_owner'));
  as.service = await connect(url('order_lookup_service'));
  as.writer = await connect(url('writer'));
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.end()));
  await server.remove();
});

describe('the role of the service', () => {
  it.each([...TABLES, 'revision', 'changed_code', 'history'])(
    'reads %s and writes nothing to it',
    async (table) => {
      await as.service.query(`select * from ${table}`);
      for (const sql of [
        `insert into ${table} default values`,
        `delete from ${table}`,
        `truncate ${table}`,
      ])
        await expect(as.service.query(sql)).rejects.toMatchObject({
          code: '42501',
        });
    },
  );

  it('listens, and creates nothing', async () => {
    await as.service.query('listen order_lookup_changed');
    for (const sql of [
      'create table t (x int)',
      'create temporary table t (x int)',
      'create schema s',
      'create function f() returns int language sql return 1',
    ])
      await expect(as.service.query(sql)).rejects.toMatchObject({ code: '42501' });
  });
});

describe('a role that may write the five tables', () => {
  it('raises the revision and is recorded by its own name, whatever its search_path', async () => {
    await as.superuser.query('grant temporary on database orders to writer');
    await as.writer.query(
      'create temporary table code_list_value (x int); create temporary table revision (x int)',
    );
    await as.writer.query(
      `set search_path = pg_temp; insert into public.code_list_value (code_list, value) values ('orderType', 'Transfer')`,
    );
    await as.writer.query('set search_path = public');
    const { rows } = await as.writer.query(
      `select database_user, operation, new_row from change_history order by id desc limit 1`,
    );
    expect(rows).toEqual([
      {
        database_user: 'writer',
        operation: 'INSERT',
        new_row: {
          code_list: 'orderType',
          value: 'Transfer',
          position: 3,
          valid_from: null,
          valid_until: null,
        },
      },
    ]);
    await as.writer.query('truncate api_key');
  });

  it.each([
    'delete from history',
    'update recorded_transaction set database_user = $$other$$',
    'insert into history (table_name, operation) values ($$api_key$$, $$INSERT$$)',
    'truncate history',
    'delete from change_history',
    'update public.revision set stamp = 0',
    'delete from changed_code',
    'select raise_every_topic()',
    'drop trigger record_insert on api_key',
    'alter table api_key disable trigger all',
    'set session_replication_role = replica',
  ])('cannot change what was recorded: %s', async (sql) => {
    await expect(as.writer.query(sql)).rejects.toMatchObject({
      code: expect.stringMatching(/^(42501|55000)$/), // the view cannot be written to at all
    });
  });

  it('cannot forge history by a table of its own', async () => {
    await as.superuser.query('grant create on schema public to writer');
    await as.writer.query('create table mine (x int)');
    for (const name of ['record_change', 'guard_revisions', 'append_code_list_value'])
      await expect(
        as.writer.query(
          `create trigger t after insert on mine for each statement execute function ${name}()`,
        ),
      ).rejects.toMatchObject({ code: '42501' });
  });
});

describe('the role that runs migrations', () => {
  const RECORD = ['history', 'recorded_transaction', 'revision', 'changed_code', 'recorded_table'];

  it.each([
    ...RECORD.flatMap((table) => [
      `delete from ${table}`,
      `truncate ${table}`,
      `insert into ${table} default values`,
      `alter table ${table} disable trigger all`,
      `drop table ${table} cascade`,
    ]),
    'create or replace view change_history as select 1 as id',
    'create or replace function record_change() returns trigger language plpgsql as $$ begin return null; end $$',
    'create trigger t after insert on mine for each statement execute function record_change()',
    'set role order_lookup_auditor',
    'grant order_lookup_auditor to order_lookup_owner',
  ])('cannot rewrite the record of changes: %s', async (sql) => {
    await as.owner.query('create table if not exists mine (x int)');
    await expect(as.owner.query(sql)).rejects.toMatchObject({ code: '42501' });
  });

  it('reads the record, and has everything read anew', async () => {
    for (const table of RECORD) await as.owner.query(`select * from ${table}`);
    await as.owner.query('select raise_every_topic()');
  });
});
