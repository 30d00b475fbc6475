import { expect, it } from '@jest/globals';
import type { Request } from 'express';
import { Configuration } from '../configuration/configuration.js';
import { Metrics } from '../telemetry/metrics.js';
import { Refusals } from './refusals.js';
import { refused, undecided } from './verdict.js';

const UNDECIDED = undecided('no-key-list', 'No list yet.');
const MISSING = refused('missing');
const EXPIRED = refused('expired');

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
    name: 'a missing token beside a wrong key',
    key: EXPIRED,
    token: MISSING,
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
