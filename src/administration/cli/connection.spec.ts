import { type Socket, connect, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, describe, expect, it } from '@jest/globals';
import { createDatabase } from '../../../test/support/database.js';
import { findFreePort, listen } from '../../../test/support/ports.js';
import type { DatabaseAddress } from '../../configuration/database-url.js';
import { COMMAND_USE } from '../../database/data-source.js';
import type { Database, Work } from '../../database/database.js';
import { parseAddress, readColumn, withDatabase, withReading, withWriting } from './connection.js';
import { describeError } from './program.js';
import { nextEvent } from '../../../test/support/waiting.js';

const database = await createDatabase();
const address = { DATABASE_URL: database.url };
afterAll(() => database.drop());

const LOST =
  'The connection to the database was lost: terminating connection due to administrator command. ' +
  'Nothing was changed. Run the command again once the database answers.';

function withDryRun<T>(work: Work<T>, ofDatabase: DatabaseAddress): Promise<T> {
  return withDatabase((used) => used.within('dryRun', work), ofDatabase);
}

/** Returns what a person reads at the command line if the work fails. */
async function sentenceOf(work: Promise<unknown>): Promise<string> {
  return work.then(() => 'no error', describeError);
}

describe('the error message about the address of the database', () => {
  const DEMO_REMEDY = /\. .* To use the database of the demo, run: \. \.data\/demo\.env$/;

  it('names the demo if no address is set', () => {
    expect(() => parseAddress({})).toThrow(DEMO_REMEDY);
  });

  it.each([{ DATABASE_URL: 'localhost' }, { DATABASE_URL_FILE: '/nowhere' }])(
    'does not name the demo if an address is set and is faulty: %j',
    (faulty) => {
      expect(() => parseAddress(faulty)).toThrow(Object.keys(faulty)[0]);
      expect(() => parseAddress(faulty)).not.toThrow(DEMO_REMEDY);
    },
  );
});

describe.each([
  { kind: 'a transaction that reads', transaction: withReading },
  { kind: 'a dry run', transaction: withDryRun },
])('$kind', ({ transaction }) => {
  it('keeps its result if the connection is lost after the work', async () => {
    const result = await transaction(async (session) => {
      const [processId] = await readColumn<number>(session, 'select pg_backend_pid()');
      const endTimeoutMs = 600_000; // pg_terminate_backend waits for the end of the session, at most for this time
      await database.query('select pg_terminate_backend($1, $2)', [processId, endTimeoutMs]);
      return 'read';
    }, address);
    expect(result).toBe('read');
  });

  it('says that the connection was lost during the work', async () => {
    const sql = 'select pg_terminate_backend(pg_backend_pid())';
    const reading = transaction((session) => session.query(sql), address);
    expect(await sentenceOf(reading)).toBe(LOST);
  });
});

it('a transaction that writes leaves nothing if the connection is lost during the work', async () => {
  const writing = withWriting(async (session) => {
    await session.query(`insert into code_list (name) values ('lost')`);
    await session.query('select pg_terminate_backend(pg_backend_pid())');
  }, address);
  expect(await sentenceOf(writing)).toBe(LOST);
  expect(await database.query(`select from code_list where name = 'lost'`)).toEqual([]);
});

it('a transaction throws the error of its work unchanged', async () => {
  const reading = withReading((session) => session.query('select nope'), address);
  await expect(reading).rejects.toThrow('column "nope" does not exist');
});

it('the message names the encoding of a database that cannot be used, and the encoding that is needed', async () => {
  const name = `${database.name}_ascii`;
  await database.query(`create database ${name} encoding 'SQL_ASCII' lc_collate 'C' lc_ctype 'C' template template0`);
  try {
    const DATABASE_URL = Object.assign(new URL(database.url), { pathname: `/${name}` }).href;
    const readTwice = async (used: Database): Promise<void> => {
      for (const reading of ['first', 'second']) {
        const read = used.within('read', (session) => session.query(`select '${reading}'`));
        await expect(read).rejects.toThrow(
          /PostgreSQL \d+ with the encoding SQL_ASCII, and PostgreSQL 14 or later with the encoding UTF8 is needed/,
        );
      }
    };
    // A command has one session. If the first reading kept it, the second reading would only wait for a session
    await withDatabase(readTwice, { DATABASE_URL });
  } finally {
    await database.query(`drop database ${name} with (force)`);
  }
});

it('a command connects again if its first connections are refused, as in a new pod', async () => {
  const port = await findFreePort();
  const { hostname, port: postgresPort } = new URL(database.url);
  const proxy = createServer((client) => {
    const server = connect(Number(postgresPort), hostname);
    client.pipe(server).pipe(client);
  });
  const url = Object.assign(new URL(database.url), { port, hostname: '127.0.0.1' }).href;
  const reading = withReading((session) => readColumn(session, `select 'read'`), { DATABASE_URL: url });
  await pause(400); // about the time until a Kubernetes node lets the connections of a new pod pass
  proxy.listen(port, '127.0.0.1');
  expect(await reading).toEqual(['read']);
  proxy.close();
});

/** PostgreSQL's answer while it starts: an ErrorResponse (E) of 0x23 bytes with the SQLSTATE 57P03. */
const IS_STARTING = Buffer.from('E\0\0\0\x23SFATAL\0C57P03\0Mis starting up\0\0');

it.each<{ what: string; refuse: (client: Socket) => void }>([
  { what: 'are reset', refuse: (client) => client.resetAndDestroy() },
  { what: 'fail while PostgreSQL starts', refuse: (client) => client.once('data', () => client.end(IS_STARTING)) },
])('a command connects again if its first connections $what', async ({ refuse }) => {
  const { hostname, port: postgresPort } = new URL(database.url);
  let refusals = 2;
  const proxy = createServer((client) => {
    refusals -= 1;
    if (refusals < 0) client.pipe(connect(Number(postgresPort), hostname)).pipe(client);
    else refuse(client);
  });
  const port = await listen(proxy.unref());
  const url = Object.assign(new URL(database.url), { port, hostname: '127.0.0.1' }).href;
  expect(await withReading((session) => readColumn(session, `select 'read'`), { DATABASE_URL: url })).toEqual(['read']);
  proxy.close();
});

it('a command does not connect again if the password is wrong', async () => {
  const startedAtMs = performance.now();
  const DATABASE_URL = Object.assign(new URL(database.url), { password: 'wrong' }).href;
  await expect(withReading(async () => undefined, { DATABASE_URL })).rejects.toThrow('Correct role and password');
  expect(performance.now() - startedAtMs).toBeLessThan(COMMAND_USE.connectRetryMs);
});

describe('timeouts that the database sets for its sessions', () => {
  const limited = createDatabase();
  afterAll(async () => (await limited).drop());

  it.each([
    { kind: 'a transaction that reads', transaction: withReading },
    { kind: 'a transaction that writes', transaction: withWriting },
  ])('do not end $kind', async ({ transaction }) => {
    const { name, query, url } = await limited;
    const limits = await query<{ name: string }>(`select name from pg_settings where name in
      ('statement_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout')`);
    for (const limit of limits) await query(`alter database ${name} set ${limit.name} = '300ms'`);
    const slow = transaction(
      async (session) => {
        await session.query('select pg_sleep(0.4)');
        await pause(400);
        return readColumn(session, `select 'whole'`);
      },
      { DATABASE_URL: url },
    );
    expect(await slow).toEqual(['whole']);
  });
});

const transactionLimits = await database.query<{ name: string }>(
  `select name from pg_settings where name in ('idle_in_transaction_session_timeout', 'transaction_timeout')`,
);
it.each(transactionLimits)('the message names $name if this setting closed the session', async ({ name }) => {
  const reading = withReading(async (session) => {
    await session.query(`set local ${name} = '10ms'`);
    await nextEvent(session, 'end');
    await session.query('select');
  }, address);
  await expect(reading).rejects.toThrow(
    new RegExp(`^The connection to the database was lost: .* \\(${name}\\)\\. Nothing was changed\\.`),
  );
});

it.each([
  { refuse: 'alter role ROLE nologin', remedy: /not permitted to log in\. Create the role, allow it to log in/ },
  { refuse: 'alter role ROLE connection limit 0', remedy: /too many connections .*\. End connections/ },
  {
    refuse: 'revoke connect on database DATABASE from public',
    remedy: /permission denied for database .*\. Allow the role to connect/,
  },
  { refuse: 'drop database DATABASE', remedy: /does not exist\. Correct the database in the connection string/ },
])('the message names the remedy if PostgreSQL refuses the login after "$refuse"', async ({ refuse, remedy }) => {
  const other = await createDatabase();
  const role = `refused_${other.name.slice(-12)}`;
  await database.query(`create role ${role} login password 'refused'`);
  await other.close();
  await database.query(refuse.replace('ROLE', role).replace('DATABASE', other.name));
  const url = Object.assign(new URL(other.url), { username: role, password: 'refused' }).href;
  expect(await sentenceOf(withReading(async () => undefined, { DATABASE_URL: url }))).toMatch(remedy);
  await other.drop();
  await database.query(`drop role ${role}`);
});

it('if COMMIT got no answer, the message says that nobody knows whether the change was made', async () => {
  const writing = withWriting(async (session) => {
    await session.query(
      `create function pg_temp.end() returns trigger language plpgsql as
         $$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$;
       create constraint trigger end_at_commit after insert on code_list
         deferrable initially deferred for each row execute function pg_temp.end();
       insert into code_list (name) values ('atCommit')`,
    );
  }, address);
  await expect(writing).rejects.toThrow(
    /^COMMIT got no answer \(.*\)\. So nobody knows whether the change was made\. /,
  );
});

it('a command runs all its transactions in one session', async () => {
  const processIds = await withDatabase(async (used) => {
    const read = () => used.within('read', (session) => readColumn<number>(session, 'select pg_backend_pid()'));
    return [
      await read(),
      await read(),
      await used.within('write', (session) => readColumn<number>(session, 'select pg_backend_pid()')),
    ];
  }, address);
  expect(new Set(processIds.flat()).size).toBe(1);
});
