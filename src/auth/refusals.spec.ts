import { expect, it } from '@jest/globals';
import type { Request } from 'express';
import { Configuration } from '../configuration/configuration.js';
import { Metrics } from '../telemetry/metrics.js';
import type { Fault } from './fault.js';
import { Refusals } from './refusals.js';

const UNDECIDED: Fault = { reason: 'no-key-list', undecided: 'No list yet.' };
const MISSING: Fault = { reason: 'missing' };
const EXPIRED: Fault = { reason: 'expired' };

it.each([
  {
    name: 'a missing header beside a key that cannot be decided',
    key: UNDECIDED,
    token: MISSING,
    slug: 'missing-credentials',
    fields: ['Authorization'],
  },
  {
    name: 'a key that cannot be decided beside a wrong token',
    key: UNDECIDED,
    token: EXPIRED,
    slug: 'cannot-verify-credentials',
    fields: undefined,
  },
  {
    name: 'a wrong token beside a good key',
    token: EXPIRED,
    slug: 'invalid-credentials',
    fields: ['Authorization'],
  },
  {
    name: 'both',
    key: EXPIRED,
    token: EXPIRED,
    slug: 'invalid-credentials',
    fields: ['Api-Key', 'Authorization'],
  },
])('names $name', ({ key, token, slug, fields }) => {
  const refusals = new Refusals(new Configuration(), new Metrics());
  const request = { context: {} } as Request;
  const problem = refusals.refuse(request, { ...(key && { key }), token });
  expect(problem.slug).toBe(slug);
  expect(problem.circumstances.issues?.map(({ field }) => field)).toEqual(fields);
});
