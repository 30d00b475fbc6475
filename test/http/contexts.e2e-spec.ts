import 'reflect-metadata';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createApplication } from '../../src/bootstrap/create-application.js';
import { readConfiguration } from '../../src/configuration/read-configuration.js';
import type { ServiceRequest, ServiceResponse } from '../../src/http/service-request.js';
import { type TestDatabase, createDatabase } from '../support/database.js';
import { Issuer } from '../support/issuer.js';
import { issueKey } from '../support/keys.js';
import { ALL_PATHS } from '../support/paths.js';
import { exchange } from '../support/raw.js';
import { until } from '../support/service.js';

const CONNECTIONS = 200;
const PIPELINED = 100;

type Application = Awaited<ReturnType<typeof createApplication>>;
let database: TestDatabase;
let issuer: Issuer;
let key: string;
let apps: Application[];

beforeAll(async () => {
  [database, issuer] = await Promise.all([createDatabase(), Issuer.start()]);
  ({ key } = await issueKey(database));
  const start = async (environment: Record<string, string>): Promise<Application> => {
    const app = await createApplication(
      readConfiguration({
        DATABASE_URL: database.urlOf('order_lookup_service'),
        ...issuer.environment,
        LOG_LEVEL: 'silent',
        ...environment,
      }),
    );
    return app.listen(0, '127.0.0.1').then(() => app);
  };
  apps = [await start({}), await start({ BASE_PATH: '/second' })];
});
afterAll(async () => {
  await Promise.all((apps ?? []).map((app) => app.close()));
  await Promise.all([issuer?.close(), database?.drop()]);
});

const portOf = async (app: Application): Promise<number> =>
  Number(new URL(await app.getUrl()).port);

describe('20,000 requests at a time', () => {
  it('are each answered in the asynchronous context in which they arrived', async () => {
    const [app] = apps;
    const server = app?.getHttpServer() as Server;
    const port = await portOf(app as Application);
    const context = new AsyncLocalStorage<number>();
    const credentials = `Host: x\r\nApi-Key: ${key}\r\nAuthorization: ${await issuer.token()}\r\n\r\n`;
    await until(async () => {
      const { responses } = await exchange(port, `GET ${ALL_PATHS[0]} HTTP/1.1\r\n${credentials}`, {
        answers: 1,
      });
      return responses[0]?.status === 200;
    });
    let arrived = 0;
    let mixed = 0;
    const emit = server.emit.bind(server);
    // As an instrumentation does it
    server.emit = (event: string, ...rest: unknown[]): boolean => {
      if (event !== 'request') return emit(event, ...rest);
      const [, response] = rest as [ServiceRequest, ServiceResponse];
      const name = arrived++;
      const end = response.end.bind(response) as (...words: unknown[]) => ServiceResponse;
      response.end = (...words: unknown[]) => {
        if (context.getStore() !== name) mixed++;
        return end(...words);
      };
      return context.run(name, () => emit(event, ...rest));
    };
    const requests = Array.from(
      { length: PIPELINED },
      (_, at) => `GET ${ALL_PATHS[at % ALL_PATHS.length]} HTTP/1.1\r\n${credentials}`,
    ).join('');
    const answers = await Promise.all(
      Array.from({ length: CONNECTIONS }, () => exchange(port, requests, { answers: PIPELINED })),
    );
    server.emit = emit;
    expect(answers.every(({ responses }) => responses.length === PIPELINED)).toBe(true);
    expect({ arrived, mixed }).toEqual({ arrived: CONNECTIONS * PIPELINED, mixed: 0 });
  });
});

describe('two applications in one process', () => {
  it('answer each at its own addresses', async () => {
    const [first, second] = await Promise.all(apps.map(portOf));
    const statuses = async (port: number | undefined, path: string): Promise<unknown[]> =>
      (
        await exchange(port ?? 0, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
      ).responses.map(({ status }) => status);
    expect(await statuses(first, '/docs')).toEqual([200]);
    expect(await statuses(first, '/second/docs')).toEqual([404]);
    expect(await statuses(second, '/second/docs')).toEqual([200]);
    expect(await statuses(second, '/docs')).toEqual([404]);
  });
});
