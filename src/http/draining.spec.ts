import * as timers from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { HttpAdapterHost } from '@nestjs/core';
import { Configuration } from '../configuration/configuration.js';

jest.unstable_mockModule('node:timers/promises', () => ({
  ...timers,
  setTimeout: (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms)), // of the fake clock
}));
const { Draining } = await import('./draining.js');

const SECOND_MS = 1_000;
const DRAIN_SECONDS = 7;

let server: { isAnswering: boolean; readonly closeAllConnections: jest.Mock };
let draining: InstanceType<typeof Draining>;
beforeEach(() => {
  jest.useFakeTimers();
  server = { isAnswering: false, closeAllConnections: jest.fn() };
  const configuration = Object.assign(new Configuration(), { DRAIN_SECONDS });
  const adapterHost = { httpAdapter: { getHttpServer: () => server } } as unknown as HttpAdapterHost;
  draining = new Draining(configuration, adapterHost);
});
afterEach(() => {
  jest.useRealTimers();
});

/** Begins the end. Returns when Nest may close the port, in milliseconds after the signal; undefined if not yet. */
function begin(signal?: string): { closesPortAtMs?: number } {
  const startedAtMs = performance.now();
  const end: { closesPortAtMs?: number } = {};
  const wait = async (): Promise<void> => {
    await draining.beforeApplicationShutdown(signal);
    end.closesPortAtMs = performance.now() - startedAtMs;
  };
  void wait();
  return end;
}

it('after a signal, the port closes when DRAIN_SECONDS have passed', async () => {
  const end = begin('SIGTERM');
  expect(draining.isDraining).toBe(true);
  await jest.advanceTimersByTimeAsync(60 * SECOND_MS);
  expect(end).toEqual({ closesPortAtMs: DRAIN_SECONDS * SECOND_MS });
});

it('without a signal, the port closes immediately', async () => {
  const end = begin();
  await jest.advanceTimersByTimeAsync(SECOND_MS);
  expect(end).toEqual({ closesPortAtMs: 0 });
});

it('a client that reads its answer delays the closing of the port until it has read the answer', async () => {
  server.isAnswering = true;
  const end = begin('SIGTERM');
  await jest.advanceTimersByTimeAsync((DRAIN_SECONDS + 1) * SECOND_MS);
  expect(end).toEqual({});
  server.isAnswering = false;
  await jest.advanceTimersByTimeAsync(SECOND_MS);
  expect(end.closesPortAtMs).toBeLessThan((DRAIN_SECONDS + 1.1) * SECOND_MS);
});

it('a client that never reads delays the closing of the port by 4 s, and is cut 4 s later', async () => {
  server.isAnswering = true;
  const end = begin('SIGTERM');
  await jest.advanceTimersByTimeAsync((DRAIN_SECONDS + 4) * SECOND_MS);
  expect(end).toEqual({ closesPortAtMs: (DRAIN_SECONDS + 4) * SECOND_MS });
  await jest.advanceTimersByTimeAsync(4 * SECOND_MS - 1);
  expect(server.closeAllConnections).not.toHaveBeenCalled();
  await jest.advanceTimersByTimeAsync(1);
  expect(server.closeAllConnections).toHaveBeenCalledTimes(1);
});
