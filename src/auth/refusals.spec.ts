import { expect, it } from '@jest/globals';
import { Configuration } from '../configuration/configuration.js';
import type { ServiceRequest } from '../http/service-request.js';
import { Metrics } from '../telemetry/metrics.js';
import { Refusals } from './refusals.js';

const UNDECIDED = { reason: 'no-key-list', undecided: 'No list yet.' };
const [MISSING, REPEATED, EXPIRED] = ['missing', 'repeated', 'expired'].map((reason) => ({
  reason,
}));

it.each([
  [
    'a missing header beside a key that cannot be decided',
    UNDECIDED,
    MISSING,
    'missing-credentials',
    ['Authorization'],
  ],
  [
    'a key that cannot be decided beside a wrong token',
    UNDECIDED,
    EXPIRED,
    'cannot-verify-credentials',
    undefined,
  ],
  ['a repeated header beside a missing one', REPEATED, MISSING, 'malformed-request', ['Api-Key']],
  ['both', EXPIRED, EXPIRED, 'invalid-credentials', ['Api-Key', 'Authorization']],
])('names %s, each time', (_name, key, token, slug, fields) => {
  const refusals = new Refusals(new Configuration(), new Metrics());
  for (let time = 0; time < 2; time++) {
    const problem = refusals.of({} as ServiceRequest, key, token);
    const { issues } = problem.circumstances;
    if (fields) expect(issues?.map(({ field }) => field)).toEqual(fields);
    expect(problem.slug).toBe(slug);
  }
});
