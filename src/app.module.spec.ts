// Tests AppModule in a testing module, without a database.
import 'reflect-metadata';
import { afterEach, expect, it } from '@jest/globals';
import { type INestApplication, NotFoundException } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import type { NextFunction, Request, Response } from 'express';
import { AppModule } from './app.module.js';
import { CredentialsGuard } from './auth/credentials.guard.js';
import { createApplication } from './bootstrap/create-application.js';
import { readConfiguration } from './configuration/read-configuration.js';
import { ServerAdapter } from './http/server.adapter.js';
import { ServiceLogger } from './telemetry/service-logger.js';
import { fetchReply } from '../test/support/exchange.js';

const ORIGIN = 'https://portal.example';
const VARYING_TEXTS = /urn:uuid:[\da-f-]{36}|\d{4}-\d\d-\d\dT[\d:.]+Z/g;
const VARYING_HEADERS = ['date', 'retry-after', 'x-request-id'];

const applications: INestApplication[] = [];
afterEach(async () => {
  await Promise.all(applications.splice(0).map((app) => app.close()));
});

function configurationWith(BASE_PATH = '') {
  return readConfiguration({
    DATABASE_URL: 'postgres://127.0.0.1:1/none',
    OAUTH_ISSUER: 'http://127.0.0.1:1',
    OAUTH_AUDIENCE: 'orders',
    LOG_LEVEL: 'silent',
    CORS_ORIGINS: ORIGIN,
    BASE_PATH,
  });
}

async function createTestingApplication(configuration = configurationWith()): Promise<INestApplication> {
  const testingModule = await Test.createTestingModule({ imports: [AppModule.forRoot(configuration)] }).compile();
  const app = testingModule.createNestApplication(new ServerAdapter(configuration));
  applications.push(app);
  return app;
}

async function listenOnFreePort(app: INestApplication): Promise<string> {
  await app.listen(0, '127.0.0.1');
  return app.getUrl();
}

/** Returns the answer to a request, except the parts that differ between two equal requests. */
async function ask(url: string, method: string) {
  const response = await fetchReply(url, { method, headers: { Origin: ORIGIN } });
  const headers = [...response.headers].filter(([name]) => !VARYING_HEADERS.includes(name));
  return { status: response.status, headers, text: response.text.replace(VARYING_TEXTS, '') };
}

it.each(['', '/lookups/v1'])(
  'a testing module with ServerAdapter answers like the service, with BASE_PATH "%s"',
  async (base) => {
    const configuration = configurationWith(base);
    const service = await createApplication(configuration);
    applications.push(service);
    const testing = await createTestingApplication(configuration);
    const [serviceUrl, testingUrl] = await Promise.all([listenOnFreePort(service), listenOnFreePort(testing)]);
    const paths = [
      '',
      '/orders-update-api/supported-values',
      '/docs',
      '/docs/',
      '/DOCS',
      '/problems/not-found',
      '/none',
    ];
    const found: string[] = [];
    for (const path of ['/', '/none', ...paths.map((each) => base + each)]) {
      for (const method of ['GET', 'POST', 'OPTIONS']) {
        const answer = await ask(testingUrl + path, method);
        expect(answer).toEqual(await ask(serviceUrl + path, method));
        found.push(`${method} ${answer.status}`);
      }
    }
    const statuses = ['GET 200', 'GET 401', 'GET 404', 'POST 405', 'OPTIONS 204', 'OPTIONS 404'];
    // Without this assertion, two applications that answer 404 to everything would pass
    expect(found).toEqual(expect.arrayContaining(statuses));
  },
);

it('a testing module with another adapter fails with a sentence that names ServerAdapter', async () => {
  const testingModule = await Test.createTestingModule({ imports: [AppModule.forRoot(configurationWith())] }).compile();
  const app = testingModule.createNestApplication();
  applications.push(app);
  await expect(app.init()).rejects.toThrow(
    /^AppModule needs its own adapter: create the application with new ServerAdapter\(configuration\)\.$/,
  );
});

it("a testing module can override the guard of the credentials, as Nest's manual describes it", async () => {
  const configuration = configurationWith();
  const guard = {
    canActivate: () => {
      throw new NotFoundException('the guard of the test');
    },
  };
  const builder = Test.createTestingModule({ imports: [AppModule.forRoot(configuration)] });
  const testingModule = await builder.overrideProvider(CredentialsGuard).useValue(guard).compile();
  const app = testingModule.createNestApplication(new ServerAdapter(configuration));
  applications.push(app);
  const { status, text } = await ask(`${await listenOnFreePort(app)}/orders-update-api/supported-values`, 'GET');
  expect([status, text]).toEqual([404, expect.stringContaining('the guard of the test')]);
});

it('if a middleware of app.use throws, the caller gets a problem document, and the log gets the error', async () => {
  const app = await createTestingApplication();
  const lines: unknown[] = [];
  Object.assign(app.get(ServiceLogger), {
    isLevelEnabled: () => true,
    error: (entry: unknown) => lines.push(entry),
  });
  app.use((_request: Request, _response: Response, _next: NextFunction) => {
    throw new Error('a secret');
  });
  const response = await fetchReply(`${await listenOnFreePort(app)}/docs`);
  const id = response.headers.get('x-request-id');
  const { text } = response;
  expect({ status: response.status, type: response.headers.get('content-type') }).toEqual({
    status: 500,
    type: 'application/problem+json',
  });
  expect(JSON.parse(text)).toMatchObject({ type: '/problems/internal-error', instance: `urn:uuid:${id}` });
  expect(text).not.toContain('secret');
  const error = expect.objectContaining({ message: 'a secret' });
  expect(lines).toContainEqual(expect.objectContaining({ message: 'request', requestId: id, statusCode: 500, error }));
});
