import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Overload } from './overload.js';

const SAMPLE_MS = 25;
let overload: Overload;
let now: number;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['performance'] });
  now = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => now);
  overload = new Overload();
});
afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

/** Takes samples that come so many milliseconds late, while requests come. */
const late = (...milliseconds: number[]): void => {
  for (const by of milliseconds) {
    overload.admits();
    now += SAMPLE_MS + by;
    jest.advanceTimersByTime(SAMPLE_MS);
  }
};
const admitted = (): number =>
  Array.from({ length: 1_000 }, () => overload.admits()).filter(Boolean).length;

describe('the admission of requests', () => {
  it.each([
    ['that is on time', [0, 1, 2]],
    ['with a single long pause', [0, 5_000, 0]],
    ['with two long pauses', [5_000, 5_000, 0]],
    ['that is always a little late', [149, 149, 149]],
  ])('refuses nothing in an event loop %s', (_, samples) => {
    late(...samples);
    expect(admitted()).toBe(1_000);
  });

  it('refuses more the later the event loop is, and admits all again when it is on time', () => {
    late(300, 300, 300);
    const few = 1_000 - admitted();
    late(700, 700, 700);
    const many = 1_000 - admitted();
    expect([few > 100, few < many, many < 1_000]).toEqual([true, true, true]);
    late(900, 1_000, 1_100);
    expect(admitted()).toBe(0);
    late(0);
    expect(admitted()).toBe(1_000);
  });
});
