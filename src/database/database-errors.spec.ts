import { DatabaseError } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { QueryFailedError } from 'typeorm';
import { type TestDatabase, createDatabase } from '../../test/support/database.js';
import {
  LostSession,
  UnusableDatabase,
  describe as describeError,
  findRefusal,
  findRemedy,
  findServerRemedy,
  hasClosedSession,
  isLoginRefused,
  mayBecomeReachable,
} from './database-errors.js';

/** Makes an error of PostgreSQL if the code is an SQLSTATE, else an error of Node.js. */
function errorOf(code: string): Error {
  const isSqlState = /^[0-9A-Z]{5}$/.test(code);
  const error = isSqlState ? new DatabaseError('it failed', 0, 'error') : new Error('it failed');
  return Object.assign(error, { code });
}

const sentenceOf = (error: unknown): string =>
  new UnusableDatabase('database orders at db.example:5432', error).message;

describe('if no transaction can begin, the message says what to do:', () => {
  it.each([
    ...['ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH', 'ENETUNREACH', 'EAI_AGAIN', 'ENOTFOUND', 'ETIMEDOUT'].map(
      (code) => ({ code, remedy: 'Start the server, or correct host and port in the connection string.' }),
    ),
    ...[
      'SELF_SIGNED_CERT_IN_CHAIN',
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'UNABLE_TO_GET_ISSUER_CERT',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    ].map((code) => ({ code, remedy: 'add sslrootcert=FILE to the connection string' })),
    { code: 'CERT_HAS_EXPIRED', remedy: "Renew the server's certificate." },
    { code: 'CERT_NOT_YET_VALID', remedy: 'the clock of this machine is wrong' },
    { code: 'ERR_TLS_CERT_ALTNAME_INVALID', remedy: 'Write the host in the connection string as its certificate' },
    { code: '0A000', remedy: 'This server is a hot standby, which takes no changes: name the primary' },
    { code: '28P01', remedy: 'Correct role and password in the connection string' },
    { code: '28000', remedy: '(alter role ROLE login), allow this address in pg_hba.conf, or add sslmode=verify-full' },
    { code: '3D000', remedy: "create database DATABASE encoding 'UTF8' template template0;" },
    { code: '53300', remedy: 'End connections (table pg_stat_activity), or raise the limit' },
    { code: '42501', remedy: 'grant connect on database DATABASE to ROLE;' },
    { code: 'EUNKNOWN', remedy: 'Check the connection string, and that the server runs.' },
  ])('$code', ({ code, remedy }) => {
    const sentence = sentenceOf(errorOf(code));
    expect(sentence).toMatch(/^The database orders at db\.example:5432 cannot be used: it failed\. \S/);
    expect(sentence).toContain(remedy);
  });
});

describe('if a statement fails,', () => {
  it.each([
    { code: '42501', ofCommand: 'such as order_lookup_owner.', ofMigration: undefined },
    { code: '23514', ofCommand: 'Shorten the text, or remove spaces around it', ofMigration: undefined },
    { code: '42P01', ofCommand: 'Apply the migrations first: npm run migrate -- up', ofMigration: undefined },
    { code: '25006', ofCommand: 'name the primary', ofMigration: 'name the primary' },
    { code: '55P03', ofCommand: 'Wait, or find it and end it:', ofMigration: 'Wait, or find it and end it:' },
    { code: '22012', ofCommand: undefined, ofMigration: undefined }, // division_by_zero
  ])('with $code, a command says "$ofCommand", a migration says "$ofMigration"', ({ code, ofCommand, ofMigration }) => {
    const part = (text?: string): unknown => (text === undefined ? undefined : expect.stringContaining(text));
    expect(findRemedy(errorOf(code))).toEqual(part(ofCommand));
    expect(findServerRemedy(errorOf(code))).toEqual(part(ofMigration));
  });

  it('because the session was lost, the remedy is to run the command again', () => {
    expect(findRemedy(new LostSession('it ended'))).toBe('Run the command again once the database answers.');
  });
});

it.each([
  { code: '25P03', setting: 'idle_in_transaction_session_timeout' },
  { code: '25P04', setting: 'transaction_timeout' },
  { code: '57P05', setting: 'idle_session_timeout' },
])('the message of $code names the setting whose limit closed the session', ({ code, setting }) => {
  expect(describeError(errorOf(code))).toBe(`it failed (${setting})`);
});

it.each(['08000', '08006', '57P01', '57P02', '57P03', '57P05', '25P03', '25P04'])(
  'the error %s says that the session is closed, and not that a statement was refused',
  (code) => {
    const wrapped = new QueryFailedError('select 1', [], errorOf(code));
    expect([hasClosedSession(errorOf(code)), hasClosedSession(wrapped)]).toEqual([true, true]);
    expect(findRefusal(wrapped)).toBeUndefined();
  },
);

it.each(['22012', '23514', '25006', '57014', '55P03', '40P01'])(
  'the error %s says that a statement was refused, and that the session is open',
  (code) => {
    const refusal = errorOf(code);
    expect(hasClosedSession(refusal)).toBe(false);
    expect(findRefusal(new QueryFailedError('select 1', [], refusal))).toBe(refusal);
  },
);

it.each([
  { codes: ['28P01', '28000'], isRefused: true },
  { codes: ['3D000', '53300', '57P03', 'ECONNREFUSED'], isRefused: false },
])('$codes mean that the login was refused: $isRefused', ({ codes, isRefused }) => {
  for (const code of codes) expect([code, isLoginRefused(errorOf(code))]).toEqual([code, isRefused]);
});

it.each([
  { codes: ['ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH', 'ENETUNREACH', 'EAI_AGAIN', '57P03'], isRetried: true },
  { codes: ['ENOTFOUND', 'ETIMEDOUT', '28P01', '3D000', '53300', '0A000'], isRetried: false },
])('after $codes a command tries to connect again: $isRetried', ({ codes, isRetried }) => {
  for (const code of codes) expect([code, mayBecomeReachable(errorOf(code))]).toEqual([code, isRetried]);
});

describe('the statements in remedies', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.drop());

  it('find the session that has the lock', async () => {
    const [, query = ''] = /end it: (select .*)$/.exec(findServerRemedy(errorOf('55P03')) ?? '') ?? [];
    const session = await database.session();
    const [holder] = (await session.query<{ pid: number }>('select pg_backend_pid() as pid')).rows;
    await session.query('begin; lock table api_key');
    const found = await database.query(query);
    expect(found).toContainEqual(
      expect.objectContaining({ pid: holder?.pid, relation: 'api_key', mode: 'AccessExclusiveLock' }),
    );
  });

  it.each([
    { code: '28000', beginning: 'alter role ROLE login' },
    { code: '0A000', beginning: 'alter role ROLE in database DATABASE set' },
    { code: '42501', beginning: 'grant connect' },
    { code: '3D000', beginning: 'create database' },
  ])('are valid SQL: $beginning …, for $code', async ({ code, beginning }) => {
    const remedy = sentenceOf(errorOf(code));
    const fromBeginning = remedy.slice(remedy.indexOf(beginning));
    const [statement = ''] = fromBeginning.split(/[);]/); // in a sentence, a statement ends before `)` or `;`
    expect(statement).toContain(beginning);
    const role = `remedy_${database.name}`;
    const session = await database.session();
    await session.query(`create role ${role}`);
    const databaseName = code === '3D000' ? `${role}_new` : database.name; // 3D000 proposes to create a database
    await session.query(statement.replace('DATABASE', databaseName).replace('ROLE', role));
    await session.query(`drop database if exists ${role}_new`);
    await session.query(`drop owned by ${role}; drop role ${role}`);
  });
});
