import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import { FetchLimit, MOST_FETCHES } from './fetch-limit.js';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const MINUTE = 60_000;

describe('FetchLimit', () => {
  it('lets callers cause four fetches in any minute, whatever they do, and one caller or key id a single one', () => {
    const step = fc.record({
      pause: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 90_000 })),
      caller: fc.integer({ min: 0, max: 6 }).map(String),
      kid: fc.integer({ min: 0, max: 6 }).map(String),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const limit = new FetchLimit();
        const caused: { at: number; caller: string; kid: string }[] = [];
        for (const { pause, caller, kid } of steps) {
          jest.advanceTimersByTime(pause);
          const at = performance.now();
          const recent = caused.filter((fetch) => fetch.at > at - MINUTE);
          const expected =
            recent.length < MOST_FETCHES &&
            recent.every((fetch) => fetch.caller !== caller && fetch.kid !== kid);
          expect(limit.permits(caller, kid)).toBe(expected);
          if (!expected) continue;
          limit.add({ caller, kid });
          caused.push({ at, caller, kid });
        }
      }),
      { numRuns: 300 },
    );
  });

  it('counts the fetches that nobody caused, and says when the next one fits', () => {
    const limit = new FetchLimit();
    for (let fetch = 0; fetch < MOST_FETCHES; fetch++) {
      expect(limit.pauseMs).toBe(0);
      limit.add();
      jest.advanceTimersByTime(1_000);
    }
    expect(limit.permits('a', 'k')).toBe(false);
    expect(limit.pauseMs).toBe(MINUTE - 1_000 * MOST_FETCHES);
    jest.advanceTimersByTime(limit.pauseMs);
    expect(limit.permits('a', 'k')).toBe(true);
  });

  it('lets a caller whose key id was found ask for another', () => {
    const limit = new FetchLimit();
    limit.add({ caller: 'a', kid: 'k1' });
    expect(limit.permits('a', 'k2')).toBe(false);
    limit.found(new Set(['k1']));
    expect(limit.permits('a', 'k2')).toBe(true);
  });
});
