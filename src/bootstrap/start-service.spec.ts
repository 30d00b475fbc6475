// A port that is not available. No database is needed.
import 'reflect-metadata';
import { once } from 'node:events';
import { type AddressInfo, Server, createServer } from 'node:net';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { readConfiguration } from '../configuration/read-configuration.js';
import { startService } from './start-service.js';

let otherProgram: Server;
let taken: number;
beforeAll(async () => {
  otherProgram = createServer().listen(0, '127.0.0.1');
  await once(otherProgram, 'listening');
  taken = (otherProgram.address() as AddressInfo).port;
});
afterAll(() => {
  otherProgram.close();
});

function start(environment: Record<string, string>) {
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
  return startService(configuration);
}

it.each(['PORT', 'MANAGEMENT_PORT'])('%s of another program is a sentence', async (variable) => {
  await expect(start({ [variable]: String(taken) })).rejects.toThrow(
    `${variable}=${taken}: the port is taken by another program on 127.0.0.1. ` +
      `Stop that program or set ${variable} to another port.`,
  );
});

it('health and metrics listen at HOST where MANAGEMENT_HOST is not set', async () => {
  const { managementUrl, stop } = await start({ HOST: '127.0.0.2' });
  expect(new URL(managementUrl).hostname).toBe('127.0.0.2');
  expect((await fetch(`${managementUrl}/health/live`)).status).toBe(200);
  await stop();
});

it('a host that this machine does not have is a sentence', async () => {
  await expect(start({ HOST: '192.0.2.1' })).rejects.toThrow(
    'MANAGEMENT_PORT=0: the port cannot be had (EADDRNOTAVAIL) on 192.0.2.1. ' +
      'Correct HOST, or MANAGEMENT_HOST, to an address of this machine.',
  );
});

it('a port that the user may not open is a sentence', async () => {
  // Root may open every port
  jest.spyOn(Server.prototype, 'listen').mockImplementation(function (this: Server) {
    process.nextTick(() => this.emit('error', Object.assign(new Error('listen EACCES'), { code: 'EACCES' })));
    return this;
  });
  await expect(start({ MANAGEMENT_PORT: '80' })).rejects.toThrow(
    'MANAGEMENT_PORT=80: the port cannot be had (EACCES) on 127.0.0.1. Set MANAGEMENT_PORT to a port above 1023.',
  );
});
