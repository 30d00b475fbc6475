import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { testFolder } from '../../test/support/test-folder.js';
import { ConnectionSettings } from './connection-settings.js';
import { DatabaseSessions } from './database-sessions.js';
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

it.each([
  { url: 'postgres://u@/orders?host=/run/postgresql', name: '/run/postgresql:5432/orders' },
  { url: 'postgres://u:p%40@[::1]:6432/orders', name: '::1:6432/orders' },
  { url: 'postgres://db/orders?application_name=x', name: 'db:5432/orders' },
])('names the database of $url without user and password', ({ url, name }) => {
  expect(new ConnectionSettings({ DATABASE_URL: url }).databaseName).toBe(name);
});
