import { Global, Module } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { DataSource } from 'typeorm';
import { createDatabase } from '../../test/support/database.js';
import { Proxy } from '../../test/support/proxy.js';
import { until } from '../../test/support/until.js';
import { Configuration } from '../configuration/configuration.js';
import { parseDatabaseAddress } from '../configuration/database-url.js';
import { TelemetryModule } from '../telemetry/telemetry.module.js';
import { DatabaseSessions, inReadTransaction } from './database-sessions.js';
import { DatabaseModule } from './database.module.js';
import { Session, poolOptions } from './session.js';
import { API_KEY, COMMUNICATION_CODE } from './tables.js';

describe('the sessions of one process', () => {
  const QUERY_TIMEOUT_MS = 100;
  const COUNT = `select count(*)::int from pg_stat_activity
    where application_name = 'order-lookup-services' and datname = current_database()`;

  /** A database behind a proxy, and the sessions that a process has there. */
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

  it('do not become more while logins work and queries get no answer', async () => {
    const { proxy, count, end } = await start();
    const options = poolOptions(parseDatabaseAddress({ DATABASE_URL: proxy.url }));
    const extra = { ...options.extra, query_timeout: QUERY_TIMEOUT_MS };
    const dataSource = new DataSource({ ...options, extra });
    const sessions = new DatabaseSessions(dataSource);
    const use = (): Promise<unknown> => sessions.withSession((_session, manager) => manager.query('select'));
    proxy.mode = 'swallow-queries';
    for (let attempt = 0; attempt < 5; attempt++) {
      await expect(use()).rejects.toThrow('Query read timeout');
    }
    await until(async () => (await count()) === 0);
    proxy.mode = 'pass';
    expect(await sessions.withSession((_session, manager) => manager.query('select 1 as one'))).toEqual([{ one: 1 }]);
    expect(await count()).toBe(1);
    await dataSource.destroy();
    await end();
  });

  it('are three at most, however many work at once', async () => {
    const { proxy, count, end } = await start();
    const dataSource = new DataSource(poolOptions(parseDatabaseAddress({ DATABASE_URL: proxy.url })));
    const sessions = new DatabaseSessions(dataSource);
    const use = (): Promise<unknown> => sessions.withSession((_session, manager) => manager.query('select'));
    await Promise.all(Array.from({ length: 9 }, use));
    const opened = await count(); // the pool keeps them
    await dataSource.destroy();
    await end();
    expect(opened).toBe(3);
  });

  it('are none after the end of an application that was just about to make the first one', async () => {
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
    const sessions = app.get(DatabaseSessions);
    const using = sessions.withSession(() => Promise.resolve());
    const settled = Promise.allSettled([using]);
    await app.close();
    await settled;
    expect(app.get(DataSource).isInitialized).toBe(false);
    await until(async () => (await count()) === 0);
    await expect(sessions.withSession(() => Promise.resolve())).rejects.toThrow('shutting down');
    await end();
  });
});

it('no limit that the database sets ends a reading', async () => {
  const database = await createDatabase();
  const limits = await database.query<{ name: string }>(`select name from pg_settings where name in
    ('statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout')`);
  for (const { name } of limits) await database.query(`alter database ${database.name} set ${name} = '300ms'`);
  const fields = parseDatabaseAddress({ DATABASE_URL: database.urlOf('order_lookup_service') });
  const dataSource = new DataSource(poolOptions(fields));
  const sessions = new DatabaseSessions(dataSource);
  const reading = sessions.withSession((session) =>
    inReadTransaction(session, [API_KEY], async () => {
      await session.query('select pg_sleep(0.5)');
      return session.query(`select name from pg_settings where source = 'database'`); // which still count
    }),
  );
  await expect(reading).resolves.toMatchObject({ rows: [] });
  await dataSource.destroy();
  await database.drop();
});

it('all queries of a reading see one state of the database, whatever is committed between them', async () => {
  const database = await createDatabase();
  const dataSource = new DataSource(poolOptions(parseDatabaseAddress({ DATABASE_URL: database.url })));
  const sessions = new DatabaseSessions(dataSource);
  const seen = await sessions.withSession((session) =>
    inReadTransaction(session, [COMMUNICATION_CODE], async () => {
      const before = await session.query('table communication_code');
      await database.addCodes(1);
      return [before.rows, (await session.query('table communication_code')).rows];
    }),
  );
  expect(seen).toEqual([[], []]);
  await dataSource.destroy();
  await database.drop();
});

it('the loss of a session to which nobody listens ends no process', () => {
  const session = new Session({});
  expect(() => session.emit('error', new Error('Connection terminated unexpectedly'))).not.toThrow();
});
