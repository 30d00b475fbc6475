import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { Response } from 'express';
import { Configuration } from '../configuration/configuration.js';
import { Problem } from '../problems/problem.js';
import { RateLimiter } from './rate-limiter.js';

const LIMIT = 2;

let limiter: RateLimiter;
let now: jest.SpiedFunction<typeof performance.now>;
beforeEach(() => {
  const configuration = Object.assign(new Configuration(), { RATE_LIMIT_PER_MINUTE: LIMIT });
  limiter = new RateLimiter(configuration);
  now = jest.spyOn(performance, 'now').mockReturnValue(0);
});
afterEach(() => now.mockRestore());

function countRequest(keyId = 'id'): Map<string, string> {
  const fields = new Map<string, string>();
  limiter.admit({ keyId, client: 'test' }, {
    setHeader: (name: string, value: string) => fields.set(name, value),
  } as unknown as Response);
  return fields;
}

it('begins a new count a minute after the first request of a key', () => {
  for (let count = 0; count < LIMIT; count++) countRequest();
  now.mockReturnValue(59_999);
  expect(() => countRequest()).toThrow(Problem);
  now.mockReturnValue(60_000);
  expect(countRequest().get('RateLimit')).toBe('"key";r=1;t=60');
});

it('counts the requests of each key separately', () => {
  for (let count = 0; count < LIMIT; count++) countRequest('one');
  expect(() => countRequest('one')).toThrow(Problem);
  expect(countRequest('another').get('RateLimit')).toBe('"key";r=1;t=60');
});

it('never sends a Retry-After below one second', () => {
  for (let count = 0; count < LIMIT; count++) countRequest();
  now.mockReturnValue(59_999.9);
  expect(() => countRequest()).toThrow(
    expect.objectContaining({ circumstances: expect.objectContaining({ headers: { 'Retry-After': '1' } }) }),
  );
});
