import 'reflect-metadata';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { readConfiguration } from '../../src/configuration/read-configuration.js';
import { createApplication } from '../../src/bootstrap/create-application.js';
import { type TestDatabase, createDatabase } from '../support/database.js';
import { Issuer } from '../support/issuer.js';
import { expectProblem } from '../support/problem.js';
import { ALL_PATHS } from '../support/paths.js';

const OPEN = /^\/(docs|openapi\.json|problems|)(\/|$)/;

let app: NestExpressApplication;
let database: TestDatabase;
let issuer: Issuer;
let paths: string[];
let url: string;

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
  url = await app.getUrl();
  const { stack } = app.getHttpAdapter().getInstance().router;
  paths = [...new Set(stack.flatMap(({ route }) => (route ? [route.path] : [])))];
});

afterAll(async () => {
  await app?.close();
  await Promise.all([issuer?.close(), database?.drop()]);
});

describe('every route of the application', () => {
  it('is one of the three operations, or a page that is public on purpose', () => {
    expect(paths.filter((path) => !OPEN.test(path)).toSorted()).toEqual([...ALL_PATHS].toSorted());
  });

  it('refuses anonymous callers, unless it is such a page', async () => {
    for (const path of paths.filter((candidate) => !OPEN.test(candidate))) {
      const response = await fetch(url + path);
      const { issues } = expectProblem(
        { status: response.status, headers: response.headers, text: await response.text() },
        'missing-credentials',
      );
      expect(issues?.map(({ field, location }) => ({ field, location }))).toEqual([
        { field: 'Api-Key', location: 'header' },
        { field: 'Authorization', location: 'header' },
      ]);
    }
  });
});
