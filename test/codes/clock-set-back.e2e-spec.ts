import 'reflect-metadata';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createApplication } from '../../src/bootstrap/create-application.js';
import { readConfiguration } from '../../src/configuration/read-configuration.js';
import { DatabaseClock } from '../../src/database/database-clock.js';
import { Metrics } from '../../src/telemetry/metrics.js';
import { type TestDatabase, createDatabase } from '../support/database.js';
import { Issuer } from '../support/issuer.js';
import { issueKey } from '../support/keys.js';
import { PATHS } from '../support/paths.js';
import { until } from '../support/service.js';

const HOUR = 3_600_000;
let database: TestDatabase;
let issuer: Issuer;
let app: Awaited<ReturnType<typeof createApplication>>;

beforeAll(async () => {
  [database, issuer] = await Promise.all([createDatabase(), Issuer.start()]);
  app = await createApplication(
    readConfiguration({
      DATABASE_URL: database.urlOf('order_lookup_service'),
      ...issuer.environment,
      LOG_LEVEL: 'silent',
    }),
  );
  await app.listen(0, '127.0.0.1');
});
afterAll(async () => {
  await app?.close();
  await Promise.all([issuer?.close(), database?.drop()]);
});

describe('a clock of the database that is set back past a moment', () => {
  it('takes the codes back to what the table says of its time', async () => {
    const { key } = await issueKey(database);
    await database.query(
      `insert into communication_code (code_type, code, description, valid_from) values ('T', 'BEGINS', 'Begins', now() + interval '30 minutes');
       insert into communication_code (code_type, code, description, valid_until) values ('T', 'ENDS', 'Ends', now() + interval '30 minutes')`,
    );
    const headers = { 'Api-Key': key, Authorization: await issuer.token() };
    const codes = async (): Promise<string> => {
      const response = await fetch((await app.getUrl()) + PATHS.communicationCodes, { headers });
      return [...(await response.text()).matchAll(/"code":"(\w+)"/g)]
        .map(([, code]) => code)
        .join();
    };
    await until(async () => (await codes()) === 'ENDS');
    const clock = app.get(DatabaseClock);
    await until(async () => {
      clock.measured(Date.now() + HOUR, performance.now()); // until the database is asked again
      return (await codes()) === 'BEGINS';
    });
    await until(async () => (await codes()) === 'ENDS');
    expect((await app.get(Metrics).unrecordedChanges.get()).values).toEqual([]);
  });
});
