// Jest loads this file before each test file. Without this file, a test that hangs is silent until its time limit.
// These timers are imported from node:timers, because a test may replace the global ones.
import { clearTimeout, setTimeout } from 'node:timers';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from '@jest/globals';

/** Keep it above WAIT_LIMIT_MS of waiting.ts, whose error says more, and below the limits of time-limits.ts. */
const NAMED_AFTER_MS = 50_000;

let timer: NodeJS.Timeout | undefined;

function watch(what: string): void {
  clearTimeout(timer);
  const sentence = `Still running after ${NAMED_AFTER_MS / 1_000} s, ${expect.getState().testPath}: ${what}`;
  timer = setTimeout(() => process.stderr.write(`\n${sentence}\n`), NAMED_AFTER_MS).unref();
}

function stopWatching(): void {
  clearTimeout(timer);
}

beforeAll(() => watch('a hook before its first test'));
beforeEach(() => watch(`the test "${expect.getState().currentTestName}"`));
afterEach(stopWatching);
afterAll(stopWatching);
