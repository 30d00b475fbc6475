import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Metrics } from '../telemetry/metrics.js';
import type { LogEntry, ServiceLogger } from '../telemetry/service-logger.js';
import { CLOCK_SKEW_SECONDS } from '../auth/access-tokens.service.js';
import { CLOCK_REMEDY, ClockWatch } from './clock-watch.js';
import { DatabaseClock } from './database-clock.js';

const MINUTE_MS = 60_000;
const MACHINE_MS = Date.UTC(2026, 10, 29);

const metrics = new Metrics();
let clock: DatabaseClock;
let watch: ClockWatch;
let lines: string[];

beforeEach(() => {
  jest.useFakeTimers({ now: MACHINE_MS });
  lines = [];
  const writeAt = (level: string) => (entry: LogEntry) => lines.push(`${level} ${entry.message}`);
  const logger = { log: writeAt('info'), warn: writeAt('warn') } as unknown as ServiceLogger;
  metrics.registry.clear(); // otherwise the new ClockWatch could not register its gauge again
  clock = new DatabaseClock();
  watch = new ClockWatch(clock, logger, metrics);
  watch.onApplicationBootstrap();
});
afterEach(() => {
  watch.onApplicationShutdown();
  jest.useRealTimers();
});

/** Simulates a poll of a database while this machine's clock is `aheadSeconds` ahead. */
function measureOffset(aheadSeconds: number): void {
  const nowMs = performance.now();
  const databaseEpochMs = Date.now() - aheadSeconds * 1000;
  clock.correct({ databaseEpochMs, askedAtMonotonicMs: nowMs, answeredAtMonotonicMs: nowMs });
}

it('warns of a wrong clock within a second and every ten minutes, and logs once when the clock is right again', () => {
  measureOffset(-300);
  jest.advanceTimersByTime(1_000);
  expect(lines).toEqual(["warn clock: this machine's clock is 300 s behind the database's"]);
  jest.advanceTimersByTime(10 * MINUTE_MS);
  expect(lines).toHaveLength(2);
  measureOffset(2);
  jest.advanceTimersByTime(20 * MINUTE_MS);
  expect(lines.slice(2)).toEqual(["info clock: this machine's clock agrees with the database's again"]);
});

// NOTICEABLE_OFFSET_MS is 10 s
it.each([-10, 10])('warns of a clock that is off by %i s', (aheadSeconds) => {
  measureOffset(aheadSeconds);
  jest.advanceTimersByTime(1_000);
  expect(lines).toHaveLength(1);
});

it('warns if somebody sets the clock of the machine after the database has stopped answering', () => {
  measureOffset(0);
  jest.setSystemTime(Date.now() + 3_600_000);
  jest.advanceTimersByTime(1_000);
  expect(lines).toEqual(["warn clock: this machine's clock is 3600 s ahead of the database's"]);
});

it.each([-9, 0, 9])('does not warn of a clock that is off by %i s', (aheadSeconds) => {
  measureOffset(aheadSeconds);
  jest.advanceTimersByTime(MINUTE_MS);
  expect(lines).toEqual([]);
});

it('shows the difference between the clocks as a metric', async () => {
  measureOffset(12);
  expect(await metrics.registry.metrics()).toMatch(/^order_lookup_clock_offset_seconds 12$/m);
});

it('the remedy names the difference of the clocks at which tokens are refused', () => {
  expect(CLOCK_REMEDY.match(/\d+ s/g)).toEqual([`${CLOCK_SKEW_SECONDS} s`, `${CLOCK_SKEW_SECONDS} s`]);
});
