import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { type TestDatabase, createDatabase } from '../../test/support/database.js';
import { parseDatabaseAddress } from '../configuration/database-url.js';
import { COMMAND_USE, createSourceOptions } from './data-source.js';
import { Database } from './database.js';
import { type Kind, MIGRATION_SESSION, RUNNER_SESSION, describeKind } from './transactions.js';

/** The settings of the database. Only polls override the last three. All transactions override the others. */
const DATABASE_SETTINGS = {
  statement_timeout: '7min',
  lock_timeout: '7min',
  idle_in_transaction_session_timeout: '7min',
  default_transaction_isolation: 'serializable',
  default_transaction_deferrable: 'on',
  search_path: 'other',
  timezone: 'Asia/Tokyo',
  datestyle: 'German, DMY',
  intervalstyle: 'iso_8601',
  bytea_output: 'escape',
  extra_float_digits: '0',
  standard_conforming_strings: 'off',
  quote_all_identifiers: 'on',
  enable_seqscan: 'on',
  enable_sort: 'on',
  jit: 'on',
};

let server: TestDatabase;
let database: Database;
beforeAll(async () => {
  server = await createDatabase();
  for (const [name, value] of Object.entries(DATABASE_SETTINGS))
    await server.query(`alter database ${server.name} set ${name} = '${value}'`);
  const fields = parseDatabaseAddress({ DATABASE_URL: server.url });
  database = new Database(new DataSource(createSourceOptions(fields, COMMAND_USE)), fields, COMMAND_USE);
});
afterAll(async () => {
  await database.close();
  await server.drop();
});

/** Reads settings, without the quotes that PostgreSQL adds to `search_path` while `quote_all_identifiers` is on. */
const READ_SETTINGS = `select name, replace(current_setting(name), '"', '') as value from unnest($1::text[]) as name`;

interface Setting {
  readonly name: string;
  readonly value: string;
}

function readSettings(kind: Kind, names: readonly string[]): Promise<Record<string, string>> {
  return database.within(kind, async (session) => {
    const { rows } = await session.query<Setting>(READ_SETTINGS, [names]);
    return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
  });
}

const KINDS = ['poll', 'note', 'read', 'write', 'migration', 'dryRun'] as const satisfies readonly Kind[];
const READING = { transaction_isolation: 'repeatable read', transaction_read_only: 'on', row_security: 'off' };
const WRITING = { transaction_isolation: 'read committed', transaction_read_only: 'off', row_security: 'on' };

it.each([
  { kind: 'poll', ...READING, statement: '2s', lock: '1s', idle: '10s', totalMs: 0 },
  { kind: 'note', ...WRITING, statement: '1s', lock: '1s', idle: '10s', totalMs: 0 },
  { kind: 'read', ...READING, statement: '0', lock: '10s', idle: '1min', totalMs: 0 },
  { kind: 'write', ...WRITING, statement: '0', lock: '30s', idle: '10s', totalMs: 0 },
  { kind: 'migration', ...WRITING, statement: '0', lock: '30s', idle: '10s', totalMs: 0 },
  { kind: 'dryRun', ...WRITING, statement: '20s', lock: '3s', idle: '10s', totalMs: 20_000 },
] as const)('a transaction of the kind $kind has its own limits, isolation and rights', async (row) => {
  const { kind, statement, lock, idle, totalMs, ...access } = row;
  const expected = {
    ...access,
    statement_timeout: statement,
    lock_timeout: lock,
    idle_in_transaction_session_timeout: idle,
  };
  expect(await readSettings(kind, Object.keys(expected))).toEqual(expected);
  expect(describeKind(kind).totalMs).toBe(totalMs);
});

it.each(KINDS)('results of a transaction of the kind %s do not depend on settings of the database', async (kind) => {
  const expected = {
    search_path: 'public, pg_temp',
    TimeZone: 'UTC',
    DateStyle: 'ISO, MDY',
    IntervalStyle: 'postgres',
    bytea_output: 'hex',
    extra_float_digits: '1',
    standard_conforming_strings: 'on',
    quote_all_identifiers: 'off',
    transaction_deferrable: 'off',
  };
  expect(await readSettings(kind, Object.keys(expected))).toEqual(expected);
});

it('a poll switches off sequential scans, sorting and JIT, and a command that reads leaves them on', async () => {
  const names = ['jit', 'enable_seqscan', 'enable_sort'];
  expect(await readSettings('poll', names)).toEqual({ jit: 'off', enable_seqscan: 'off', enable_sort: 'off' });
  expect(await readSettings('read', names)).toEqual({ jit: 'on', enable_seqscan: 'on', enable_sort: 'on' });
});

// Other operating systems do not support all of these settings
(process.platform === 'linux' ? it : it.skip).each(['write', 'migration', 'dryRun'] as const)(
  'a transaction of the kind %s has the settings that end a statement within 15 s if its client is gone',
  async (kind) => {
    const expected = {
      client_connection_check_interval: '100ms',
      tcp_keepalives_idle: '5',
      tcp_keepalives_interval: '5',
      tcp_keepalives_count: '2',
      tcp_user_timeout: '15000',
    };
    expect(await readSettings(kind, Object.keys(expected))).toEqual(expected);
  },
);

it('a session that runs migrations waits two minutes for another run, and ignores the database settings', async () => {
  const expected = {
    statement_timeout: '0',
    lock_timeout: '2min',
    default_transaction_isolation: 'read committed',
    default_transaction_read_only: 'off',
    default_transaction_deferrable: 'off',
    search_path: 'pg_catalog, pg_temp',
  };
  const { rows } = await database.borrow(async (session) => {
    await session.query(RUNNER_SESSION);
    return session.query<Setting>(READ_SETTINGS, [Object.keys(expected)]);
  });
  expect(Object.fromEntries(rows.map(({ name, value }) => [name, value]))).toEqual(expected);
});

it('a migration that changes the role or a setting does not change the session of the next migration', async () => {
  const { rows } = await database.borrow(async (session) => {
    await session.query(RUNNER_SESSION);
    await session.query("set role pg_monitor; set timezone = 'America/Lima'; set search_path = other");
    await session.query(MIGRATION_SESSION);
    return session.query(
      `select current_user::text as role, current_schemas(false)::text[] as path,
              current_setting('timezone') = reset_val as "isZoneReset" from pg_settings where name = 'TimeZone'`,
    );
  });
  const [owner] = await server.query('select pg_get_userbyid(relowner) as name from pg_class where relname = $1', [
    'pgmigrations',
  ]);
  expect(rows).toEqual([{ role: owner?.['name'], path: ['pg_catalog'], isZoneReset: true }]);
});
