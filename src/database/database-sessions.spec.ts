import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Global, Module } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { DataSource } from 'typeorm';
import { createDatabase } from '../../test/support/database.js';
import { Proxy } from '../../test/support/proxy.js';
import { testFolder } from '../../test/support/test-folder.js';
import { until } from '../../test/support/until.js';
import { Configuration } from '../configuration/configuration.js';
import { TelemetryModule } from '../telemetry/telemetry.module.js';
import { ConnectionSettings } from './connection-settings.js';
import { DatabaseSessions } from './database-sessions.js';
import { DatabaseModule } from './database.module.js';
import { Session, poolOptions } from './session.js';

const file = join(testFolder(), 'database-url');

it('says what is wrong with the variables before a connection is made, and tries again', async () => {
  writeFileSync(file, 'postgres://nobody@127.0.0.1:1/none');
  const settings = new ConnectionSettings({ DATABASE_URL_FILE: file });
  const sessions = new DatabaseSessions(new DataSource(poolOptions(settings)), settings);
  const use = (): Promise<never> => sessions.withSession(() => Promise.reject(new Error('used')));
  rmSync(file);
  await expect(use()).rejects.toThrow('DATABASE_URL_FILE is');
  writeFileSync(file, 'postgres://nobody@127.0.0.1:1/none');
  await expect(Promise.all([use(), use()])).rejects.toThrow('ECONNREFUSED');
  writeFileSync(file, 'nonsense');
  await expect(use()).rejects.toThrow('is not a connection string');
});

it('makes a session with the settings that were read last, also if they cannot be read any more', () => {
  writeFileSync(file, 'postgres://former@db.example:5433/orders');
  const settings = new ConnectionSettings({ DATABASE_URL_FILE: file });
  writeFileSync(file, 'nonsense');
  expect(() => settings.refresh()).toThrow('is not a connection string');
  const session = new Session({ connectionSettings: settings, query_timeout: 1 });
  expect(session).toMatchObject({ user: 'former', host: 'db.example', port: 5433 });
});

it('no parameter of the connection string takes away the limit of a query', () => {
  const url = 'postgres://db/orders?query_timeout=3600000&keepAlive=0';
  const settings = new ConnectionSettings({ DATABASE_URL: url });
  const session = new Session({ connectionSettings: settings, query_timeout: 2_500 });
  expect(session).toMatchObject({ connectionParameters: { query_timeout: 2_500 } });
  expect(session).toMatchObject({ connection: { _keepAlive: true } });
});

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
    const settings = new ConnectionSettings({ DATABASE_URL: proxy.url });
    const options = poolOptions(settings);
    const extra = { ...options.extra, query_timeout: QUERY_TIMEOUT_MS };
    const dataSource = new DataSource({ ...options, extra });
    const sessions = new DatabaseSessions(dataSource, settings);
    const use = (): Promise<unknown> => sessions.withSession((manager) => manager.query('select'));
    proxy.mode = 'swallow-queries';
    for (let attempt = 0; attempt < 5; attempt++) {
      await expect(use()).rejects.toThrow('Query read timeout');
    }
    await until(async () => (await count()) === 0);
    proxy.mode = 'pass';
    expect(await sessions.withSession((manager) => manager.query('select 1 as one'))).toEqual([{ one: 1 }]);
    expect(await count()).toBe(1);
    await dataSource.destroy();
    await end();
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
