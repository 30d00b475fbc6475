import * as timers from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { HttpAdapterHost } from '@nestjs/core';
import { Configuration } from '../configuration/configuration.js';

// Jest's fake timers replace the global setTimeout, but not the one of node:timers/promises, which Draining imports
jest.unstable_mockModule('node:timers/promises', () => ({
  ...timers,
  setTimeout: (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms)),
}));
const { Draining } = await import('./draining.js');

const SECOND_MS = 1_000;
const DRAIN_SECONDS = 7;
const CLOSE_SECONDS = 4; // CLOSE_TIMEOUT_MS of draining.ts

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

/** Begins the shutdown. The result gets `portClosesAfterMs` when Nest may close the port. */
function beginShutdown(signal?: string): { portClosesAfterMs?: number } {
  const startedAtMs = performance.now();
  const shutdown: { portClosesAfterMs?: number } = {};
  const wait = async (): Promise<void> => {
    await draining.beforeApplicationShutdown(signal);
    shutdown.portClosesAfterMs = performance.now() - startedAtMs;
  };
  void wait();
  return shutdown;
}

it('after a signal, the port closes when DRAIN_SECONDS have passed', async () => {
  const shutdown = beginShutdown('SIGTERM');
  expect(draining.isDraining).toBe(true);
  await jest.advanceTimersByTimeAsync(60 * SECOND_MS);
  expect(shutdown).toEqual({ portClosesAfterMs: DRAIN_SECONDS * SECOND_MS });
});

it('without a signal, the port closes immediately', async () => {
  const shutdown = beginShutdown();
  await jest.advanceTimersByTimeAsync(SECOND_MS);
  expect(shutdown).toEqual({ portClosesAfterMs: 0 });
});

it('the port stays open until a client has read its answer', async () => {
  server.isAnswering = true;
  const shutdown = beginShutdown('SIGTERM');
  await jest.advanceTimersByTimeAsync((DRAIN_SECONDS + 1) * SECOND_MS);
  expect(shutdown).toEqual({});
  server.isAnswering = false;
  await jest.advanceTimersByTimeAsync(SECOND_MS);
  expect(shutdown.portClosesAfterMs).toBeLessThan((DRAIN_SECONDS + 1) * SECOND_MS + 100); // Draining looks every 20 ms
});

it('for a client that never reads, the port stays open 4 s longer, and 4 s later the client is cut', async () => {
  server.isAnswering = true;
  const shutdown = beginShutdown('SIGTERM');
  await jest.advanceTimersByTimeAsync((DRAIN_SECONDS + CLOSE_SECONDS) * SECOND_MS);
  expect(shutdown).toEqual({ portClosesAfterMs: (DRAIN_SECONDS + CLOSE_SECONDS) * SECOND_MS });
  await jest.advanceTimersByTimeAsync(CLOSE_SECONDS * SECOND_MS - 1);
  expect(server.closeAllConnections).not.toHaveBeenCalled();
  await jest.advanceTimersByTimeAsync(1);
  expect(server.closeAllConnections).toHaveBeenCalledTimes(1);
});
