import { EventEmitter } from 'node:events';
import { beforeEach, expect, it, jest } from '@jest/globals';
import type { Request, Response } from 'express';
import { Configuration } from '../configuration/configuration.js';
import { Problem } from '../problems/problem.js';
import { RateLimiter } from './rate-limiter.js';

const LIMIT = 2;
const CALLER = { keyId: 'id', client: 'test' };

let limiter: RateLimiter;
beforeEach(() => {
  const configuration = Object.assign(new Configuration(), { RATE_LIMIT_PER_MINUTE: LIMIT });
  limiter = new RateLimiter(configuration);
});

/** A request whose response can be ended. */
function ask(headers: Request['headers'] = {}) {
  const request = { method: 'GET', headers, context: {} } as Request;
  const fields = new Map<string, string>();
  const response = Object.assign(new EventEmitter(), {
    headersSent: false,
    statusCode: 200,
    setHeader: (name: string, value: string) => fields.set(name, value),
  }) as unknown as Response;
  limiter.admit(CALLER, request, response);
  const end = (status: number): void => {
    response.statusCode = status;
    response.emit('close');
  };
  return { charge: request.context.conditionalCharge, fields, end };
}
const askConditionally = () => ask({ 'if-none-match': '"a"' });

it('conditional requests that become 304 count nothing against others, not even while they run', () => {
  const polls = Array.from({ length: 10 }, askConditionally);
  for (let count = 0; count < LIMIT; count++) ask();
  expect(() => ask()).toThrow(Problem);
  for (const { charge, end, fields } of polls) {
    charge?.waive();
    end(304);
    expect(fields.size).toBe(0);
  }
});

it('conditional requests with another answer are counted once, and refused beyond the limit', () => {
  const asked = [askConditionally(), askConditionally(), askConditionally()];
  const problems = asked.map(({ charge }) => charge?.charge());
  expect(problems).toEqual([undefined, undefined, expect.any(Problem)]);
  expect(asked[1]?.charge?.charge()).toBe(undefined);
  for (const { end } of asked) end(200);
  expect(asked[0]?.fields.get('RateLimit')).toMatch(/^"key";r=1;t=\d+$/);
});

it('a count is taken back where the answer became a 304 after all', () => {
  const { charge, end } = askConditionally();
  charge?.charge();
  end(304);
  for (let count = 0; count < LIMIT; count++) ask();
});

it('a response that a handler wrote itself is counted at its end', () => {
  for (let count = 0; count < LIMIT; count++) askConditionally().end(200);
  expect(() => ask()).toThrow(Problem);
});

it('a conditional request is counted in the period in which it is answered', () => {
  const now = jest.spyOn(performance, 'now').mockReturnValue(0);
  try {
    for (let count = 0; count < LIMIT; count++) ask();
    const { charge, fields } = askConditionally();
    now.mockReturnValue(60_000);
    expect(charge?.charge()).toBe(undefined);
    expect(fields.get('RateLimit')).toBe('"key";r=1;t=60');
  } finally {
    now.mockRestore();
  }
});

it('names a second at least after which the caller may return', () => {
  const now = jest.spyOn(performance, 'now').mockReturnValue(0);
  try {
    for (let count = 0; count < LIMIT; count++) ask();
    now.mockReturnValue(59_999.9);
    const { fields } = askConditionally();
    expect(fields.size).toBe(0);
    expect(() => ask()).toThrow(
      expect.objectContaining({
        circumstances: expect.objectContaining({ headers: { 'Retry-After': '1' } }),
      }),
    );
  } finally {
    now.mockRestore();
  }
});
