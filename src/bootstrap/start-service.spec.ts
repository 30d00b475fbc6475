// Tests when and where the service opens its ports, and when it closes them. No database is needed.
import 'reflect-metadata';
import { EventEmitter, once } from 'node:events';
import { type AddressInfo, type Server, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import type { OnApplicationBootstrap } from '@nestjs/common';
import { IssuersService } from '../auth/issuers/issuers.service.js';
import type { Configuration } from '../configuration/configuration.js';
import { readConfiguration } from '../configuration/read-configuration.js';
import { ManagementServer } from '../management/management.server.js';
import type { LogOutput } from '../telemetry/service-logger.js';
import { Tracing } from '../telemetry/tracing.js';
import { createApplication } from './create-application.js';
import { fetchReply } from '../../test/support/exchange.js';

type Application = Awaited<ReturnType<typeof createApplication>>;

/** A test replaces this function to change the application before it is initialized. */
let prepare: (app: Application) => void = () => undefined;
afterEach(() => {
  prepare = () => undefined;
});
jest.unstable_mockModule('./create-application.js', () => ({
  async createApplication(configuration: Configuration, logOutput?: LogOutput): Promise<Application> {
    const app = await createApplication(configuration, logOutput);
    prepare(app);
    return app;
  },
}));
const { startService } = await import('./start-service.js'); // after the mock, which start-service.js has to import

let otherProgram: Server;
let takenPort: number;
beforeAll(async () => {
  otherProgram = createServer().listen(0, '127.0.0.1');
  await once(otherProgram, 'listening');
  takenPort = (otherProgram.address() as AddressInfo).port;
});
afterAll(() => {
  otherProgram.close();
});

function start(environment: Record<string, string>, logOutput?: LogOutput) {
  const configuration = readConfiguration({
    DATABASE_URL: 'postgres://127.0.0.1:1/none',
    OAUTH_ISSUER: 'http://127.0.0.1:1',
    OAUTH_AUDIENCE: 'orders',
    LOG_LEVEL: 'silent',
    HOST: '127.0.0.1',
    PORT: '0',
    MANAGEMENT_PORT: '0',
    ...environment,
  });
  return startService(configuration, logOutput);
}

it.each(['PORT', 'MANAGEMENT_PORT'])('a failed start names %s if another program has the port', async (variable) => {
  await expect(start({ [variable]: String(takenPort) })).rejects.toThrow(
    `${variable}=${takenPort}: the port is taken by another program on 127.0.0.1. ` +
      `Stop that program or set ${variable} to another port.`,
  );
});

it('the log warns of a connection to the database that anybody in the network can read', async () => {
  const lines: string[] = [];
  const output = Object.assign(new EventEmitter(), {
    write: (line: string) => lines.push(line) > 0,
    flush: (isFlushed: () => void) => isFlushed(),
    destroy: () => undefined,
  });
  const { stop } = await start({ DATABASE_URL: 'postgres://192.0.2.1:1/none', LOG_LEVEL: 'warn' }, output);
  await stop();
  const [line = '{}'] = lines;
  expect(JSON.parse(line)).toMatchObject({ level: 'warn', msg: expect.stringContaining('sslmode=verify-full') });
});

it('health and metrics listen at HOST if MANAGEMENT_HOST is not set', async () => {
  const { managementUrl, stop } = await start({ HOST: '127.0.0.2' });
  expect(new URL(managementUrl).hostname).toBe('127.0.0.2');
  for (const path of ['/health/live', '/metrics']) expect((await fetchReply(managementUrl + path)).status).toBe(200);
  await stop();
});

const addresses = Object.values(networkInterfaces()).flatMap((each) => each?.map(({ address }) => address));

// A machine without IPv6 cannot listen at ::1
(addresses.includes('::1') ? it : it.skip).each([
  { HOST: '0.0.0.0', MANAGEMENT_HOST: '::', host: '127.0.0.1', managementHost: '127.0.0.1' },
  { HOST: '::', MANAGEMENT_HOST: '0.0.0.0', host: '127.0.0.1', managementHost: '127.0.0.1' },
  { HOST: '', MANAGEMENT_HOST: '::1', host: '127.0.0.1', managementHost: '[::1]' },
])(
  'the addresses in the log can be opened on this machine if HOST is "$HOST" and MANAGEMENT_HOST is "$MANAGEMENT_HOST"',
  async (row) => {
    const { HOST, MANAGEMENT_HOST, host, managementHost } = row;
    const { url, managementUrl, stop } = await start({ HOST, MANAGEMENT_HOST });
    expect([new URL(url).hostname, new URL(managementUrl).hostname]).toEqual([host, managementHost]);
    await stop();
  },
);

it('a failed start names a host that this machine does not have', async () => {
  // HOST is also the default of MANAGEMENT_HOST, and the management port opens first
  await expect(start({ HOST: '192.0.2.1' })).rejects.toThrow(
    'MANAGEMENT_PORT=0: the port cannot be opened (EADDRNOTAVAIL) on 192.0.2.1. ' +
      'Correct HOST, or MANAGEMENT_HOST, to an address of this machine.',
  );
});

it('a failed start names a port that the user may not open', async () => {
  prepare = (app) => {
    const { server } = app.get(ManagementServer);
    jest.spyOn(server, 'listen').mockImplementation(() => {
      // Simulated, because root may open every port
      const error = Object.assign(new Error('listen EACCES'), { code: 'EACCES' });
      process.nextTick(() => server.emit('error', error));
      return server;
    });
  };
  await expect(start({ MANAGEMENT_PORT: '80' })).rejects.toThrow(
    'MANAGEMENT_PORT=80: the port cannot be opened (EACCES) on 127.0.0.1. Set MANAGEMENT_PORT to a port above 1023.',
  );
});

it('the ports open after everything is initialized, and the management port opens first', async () => {
  const events: string[] = [];
  prepare = (app) => {
    const service: OnApplicationBootstrap = app.get(IssuersService);
    jest.spyOn(service, 'onApplicationBootstrap').mockImplementation(async () => {
      for (let turns = 0; turns < 10; turns++) await turn(); // long enough for a server to begin to listen
      events.push('initialized');
    });
    app.get(ManagementServer).server.once('listening', () => events.push('management port'));
    app.getHttpServer().once('listening', () => events.push('port'));
  };
  const { stop } = await start({});
  expect(events).toEqual(['initialized', 'management port', 'port']);
  await stop();
});

it('health and metrics are answered until everything else has ended', async () => {
  const probesAtEnd: unknown[] = [];
  let probe = (): Promise<unknown> => Promise.resolve(); // replaced below, when the addresses are known
  prepare = (app) => {
    jest.spyOn(app.get(Tracing), 'stop').mockImplementation(async () => {
      probesAtEnd.push(await probe()); // the traces end last
    });
  };
  const { url, managementUrl, stop } = await start({});
  probe = async () => ({
    api: await isAnswered(`${url}/openapi.json`),
    health: await isAnswered(`${managementUrl}/health/live`),
    metrics: await isAnswered(`${managementUrl}/metrics`),
  });
  expect(await probe()).toEqual({ api: true, health: true, metrics: true });
  await stop();
  expect(probesAtEnd).toEqual([{ api: false, health: true, metrics: true }]);
  expect(await probe()).toEqual({ api: false, health: false, metrics: false });
});

async function isAnswered(address: string): Promise<boolean> {
  try {
    const { status } = await fetch(address);
    return status === 200;
  } catch {
    return false;
  }
}
