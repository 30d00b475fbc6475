import { Global, Module } from '@nestjs/common';
import { describe, expect, it, jest } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { DataSource } from 'typeorm';
import { createDatabase } from '../../test/support/database.js';
import { Proxy } from '../../test/support/proxy.js';
import { until } from '../../test/support/until.js';
import { Configuration } from '../configuration/configuration.js';
import { parseDatabaseAddress } from '../configuration/database-url.js';
import { TelemetryModule } from '../telemetry/telemetry.module.js';
import { COMMAND_USE, SERVICE_USE, createSourceOptions } from './data-source.js';
import { Database, lockBeforeSnapshot } from './database.js';
import { DatabaseModule } from './database.module.js';
import { Session } from './session.js';
import { API_KEY, COMMUNICATION_CODE } from './tables.js';

function open(url: string, use = SERVICE_USE): Database {
  const fields = parseDatabaseAddress({ DATABASE_URL: url });
  return new Database(new DataSource(createSourceOptions(fields, use)), fields, use);
}

describe('the sessions of one process', () => {
  const COUNT = `select count(*)::int from pg_stat_activity
    where application_name = 'order-lookup-services' and datname = current_database()`;

  /** Creates a database behind a proxy. `count` returns how many sessions the process has in this database. */
  async function start() {
    const database = await createDatabase();
    const proxy = await Proxy.before(database.urlOf('order_lookup_service'));
    const count = async (): Promise<number> => {
      const [row] = await database.query<{ count: number }>(COUNT);
      return row?.count ?? NaN;
    };
    const end = async (): Promise<void> => {
      proxy.close();
      await database.drop();
    };
    return { proxy, count, end };
  }

  const readOne = (database: Database) =>
    database.within('poll', async (session) => (await session.query('select 1 as one')).rows);

  it('are closed if their login succeeds but their query gets no answer', async () => {
    const { proxy, count, end } = await start();
    const database = open(proxy.url, { ...SERVICE_USE, queryTimeoutMs: 100 });
    proxy.mode = 'swallow-queries';
    for (let attempt = 0; attempt < 5; attempt++) {
      await expect(readOne(database)).rejects.toThrow('Query read timeout');
    }
    await until(async () => (await count()) === 0);
    proxy.mode = 'pass';
    expect(await readOne(database)).toEqual([{ one: 1 }]);
    expect(await count()).toBe(1);
    await database.close();
    await end();
  });

  it('are three at most, even if nine transactions run at the same time', async () => {
    const { proxy, count, end } = await start();
    const database = open(proxy.url);
    await Promise.all(Array.from({ length: 9 }, () => readOne(database)));
    const opened = await count(); // the pool keeps its sessions open
    await database.close();
    await end();
    expect(opened).toBe(3);
  });

  it('are replaced when they have reached their greatest age', async () => {
    const { proxy, end } = await start();
    const fields = parseDatabaseAddress({ DATABASE_URL: proxy.url });
    const options = createSourceOptions(fields, SERVICE_USE);
    const source = new DataSource({ ...options, extra: { ...options.extra, maxLifetimeSeconds: 1 } });
    const database = new Database(source, fields, SERVICE_USE);
    const readPid = () =>
      database.within('poll', async (session) => (await session.query('select pg_backend_pid() as pid')).rows);
    const first = JSON.stringify(await readPid());
    await until(async () => JSON.stringify(await readPid()) !== first);
    await database.close();
    await end();
  });

  it('are closed if the application ends while it opens its first session', async () => {
    const { proxy, count, end } = await start();
    const configuration = Object.assign(new Configuration(), { DATABASE_URL: proxy.url });
    @Global()
    @Module({
      providers: [{ provide: Configuration, useValue: configuration }],
      exports: [Configuration],
    })
    class ConfigurationModule {}
    const module = await Test.createTestingModule({
      imports: [ConfigurationModule, TelemetryModule, DatabaseModule],
    }).compile();
    const app = await module.init();
    const database = app.get(Database);
    const using = Promise.allSettled([readOne(database)]);
    await app.close();
    await using;
    expect(app.get(DataSource).isInitialized).toBe(false);
    await until(async () => (await count()) === 0);
    await expect(readOne(database)).rejects.toThrow('shutting down');
    await end();
  });

  it('are not used any more after a refused login: only those of a later login are', async () => {
    const owner = await createDatabase();
    const role = `rotated_${owner.name}`;
    await owner.query(`create role ${role} login password 'first'`);
    const url = new URL(owner.url);
    const database = open(Object.assign(url, { username: role, password: 'first' }).href);
    expect(database.isLoggedIn).toBe(false);
    await readOne(database);
    expect(database.isLoggedIn).toBe(true);
    await owner.query(`alter role ${role} password 'second'`);
    // The first transaction uses the old session, so the second transaction needs a new session
    const refusals = await Promise.allSettled([readOne(database), readOne(database)]);
    expect(refusals.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    await expect(readOne(database)).rejects.toThrow('password authentication failed');
    expect(database.isLoggedIn).toBe(false);
    await owner.query(`alter role ${role} password 'first'`);
    expect(await readOne(database)).toEqual([{ one: 1 }]);
    await database.onApplicationShutdown();
    expect(database.isLoggedIn).toBe(false);
    await database.close();
    await owner.query(`drop role ${role}`);
    await owner.drop();
  });
});

it.each(['poll', 'note', 'read', 'write', 'dryRun'] as const)(
  'a transaction of the kind %s does not have the limits that the database sets',
  async (kind) => {
    const limited = await createDatabase();
    const limits = await limited.query<{ name: string }>(`select name from pg_settings where name in
    ('statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout')`);
    for (const { name } of limits) await limited.query(`alter database ${limited.name} set ${name} = '300ms'`);
    const database = open(limited.url, COMMAND_USE);
    const reading = database.within(kind, async (session) => {
      await session.query('select pg_sleep(0.5)');
      return session.query(`select name from pg_settings where source = 'database'`);
    });
    await expect(reading).resolves.toMatchObject({ rows: [] }); // none of the database's limits applies
    await database.close();
    await limited.drop();
  },
);

it('all queries of a reading see one state of the database, whatever is committed between them', async () => {
  const changed = await createDatabase();
  const database = open(changed.url);
  const seen = await database.within('poll', async (session) => {
    await lockBeforeSnapshot(session, [COMMUNICATION_CODE]);
    const before = await session.query('table communication_code');
    await changed.addCodes(1);
    return [before.rows, (await session.query('table communication_code')).rows];
  });
  expect(seen).toEqual([[], []]);
  await database.close();
  await changed.drop();
});

it('a reading can lock its tables before its snapshot is taken', async () => {
  const truncated = await createDatabase();
  const database = open(truncated.url);
  const other = await truncated.session();
  await other.query('begin; truncate api_key');
  const reading = database.within('read', async (session) => {
    await lockBeforeSnapshot(session, [API_KEY]);
    return (await session.query('table api_key')).rows;
  });
  await until(async () => (await truncated.countWaiting('api_key')) > 0, { during: reading });
  await other.query(`insert into api_key (client, key_hash) values ('later', sha256('later')); commit`);
  expect(await reading).toHaveLength(1);
  await database.close();
  await truncated.drop();
});

it.each([
  { kind: 'poll', text: 'commit' },
  { kind: 'read', text: 'commit' },
  { kind: 'write', text: 'commit' },
  { kind: 'dryRun', text: 'rollback' },
] as const)(
  'a transaction of the kind $kind ends with $text, and waits at most 20 s for the answer',
  async ({ kind, text }) => {
    const ended = await createDatabase();
    const database = open(ended.url, COMMAND_USE);
    // The spy begins when the work is done, so it records only the end of the transaction
    const queries = await database.within(kind, async (session) => jest.spyOn(session, 'query'));
    expect(queries.mock.calls).toEqual([[{ text, query_timeout: 20_000 }]]); // ENDING_ANSWER_MS
    await database.close();
    await ended.drop();
  },
);

it('a session that is lost does not end the process, even if nobody listens for its errors', () => {
  const session = new Session({});
  expect(() => session.emit('error', new Error('Connection terminated unexpectedly'))).not.toThrow();
});

it.each([
  { text: '14.12 (Debian 14.12-1.pgdg120+1)', version: 14 },
  { text: '18beta1', version: 18 },
])('a session knows that the server "$text" has the major version $version', ({ text, version }) => {
  const session = new Session({});
  session.connection.emit('parameterStatus', { parameterName: 'server_version', parameterValue: text });
  session.connection.emit('parameterStatus', { parameterName: 'server_encoding', parameterValue: 'UTF8' });
  expect([session.serverVersion, session.serverEncoding]).toEqual([version, 'UTF8']);
});
