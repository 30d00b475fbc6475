import { expect, it } from '@jest/globals';
import type { Request } from 'express';
import { Configuration } from '../configuration/configuration.js';
import { Metrics } from '../telemetry/metrics.js';
import { Refusals } from './refusals.js';
import { accepted, refused, undecided } from './verdict.js';

const OWNER = { keyId: '1', client: 'Shop' };
const KEY_UNDECIDED = undecided('no-key-list', 'No list yet.', { owner: OWNER });
const KEY_EXPIRED = refused('expired', { owner: OWNER });
const REPEATED = refused('repeated', { owner: OWNER });
const TOKEN_SENT = accepted('token');
const TOKEN_MISSING = refused('missing');

function createRefusals() {
  const request = { context: {} } as Request;
  return { refusals: new Refusals(new Configuration(), new Metrics()), request };
}

it.each([
  {
    name: 'names only the missing token if the key cannot be checked',
    key: KEY_UNDECIDED,
    token: TOKEN_MISSING,
    slug: 'missing-credentials',
    fields: ['Authorization'],
    refusal: { credential: 'access_token', reason: 'missing', owner: OWNER },
  },
  {
    name: 'is 503 if the key cannot be checked and a token was sent',
    key: KEY_UNDECIDED,
    token: TOKEN_SENT,
    slug: 'cannot-verify-credentials',
    fields: undefined,
    refusal: { credential: 'api_key', reason: 'no-key-list', owner: OWNER },
  },
  {
    name: 'names a wrong key and the missing token',
    key: KEY_EXPIRED,
    token: TOKEN_MISSING,
    slug: 'invalid-credentials',
    fields: ['Api-Key', 'Authorization'],
    refusal: { credential: 'api_key, access_token', reason: 'expired, missing', owner: OWNER },
  },
  {
    name: 'names only a wrong key if a token was sent',
    key: KEY_EXPIRED,
    token: TOKEN_SENT,
    slug: 'invalid-credentials',
    fields: ['Api-Key'],
    refusal: { credential: 'api_key', reason: 'expired', owner: OWNER },
  },
  {
    name: 'names a repeated key, and not the missing token',
    key: REPEATED,
    token: TOKEN_MISSING,
    slug: 'malformed-request',
    fields: ['Api-Key'],
    refusal: { credential: 'api_key', reason: 'repeated', owner: OWNER },
  },
  {
    name: 'names a repeated token, and not the wrong key',
    key: KEY_EXPIRED,
    token: REPEATED,
    slug: 'malformed-request',
    fields: ['Authorization'],
    refusal: { credential: 'access_token', reason: 'repeated', owner: OWNER },
  },
  {
    name: 'names both if both are repeated',
    key: REPEATED,
    token: REPEATED,
    slug: 'malformed-request',
    fields: ['Api-Key', 'Authorization'],
    refusal: { credential: 'api_key, access_token', reason: 'repeated, repeated', owner: OWNER },
  },
])('a key that is not accepted: the answer $name', ({ key, token, slug, fields, refusal }) => {
  const { refusals, request } = createRefusals();
  const problem = refusals.problemForKey(request, key, token);
  expect(problem.slug).toBe(slug);
  expect(problem.circumstances.issues?.map(({ field }) => field)).toEqual(fields);
  expect(request.context.refusal).toEqual(refusal);
});

it.each([
  { token: refused('expired'), slug: 'invalid-credentials', fields: ['Authorization'] },
  { token: refused('repeated'), slug: 'malformed-request', fields: ['Authorization'] },
  { token: refused('scope'), slug: 'insufficient-scope', fields: ['Authorization'] },
  { token: undecided('no-signing-keys', 'None.'), slug: 'cannot-verify-credentials', fields: undefined },
])('after a valid key, a token that is $token.outcome ($token.reason) gets $slug', ({ token, slug, fields }) => {
  const { refusals, request } = createRefusals();
  const problem = refusals.problemForToken(request, token);
  expect(problem.slug).toBe(slug);
  expect(problem.circumstances.issues?.map(({ field }) => field)).toEqual(fields);
  expect(request.context.refusal).toEqual({ credential: 'access_token', reason: token.reason });
});

it('a 503 tells each caller to repeat the request after 2, 3 or 4 seconds, at random', () => {
  const { refusals, request } = createRefusals();
  const seconds = Array.from({ length: 200 }, () => {
    const { circumstances } = refusals.problemForKey(request, KEY_UNDECIDED, TOKEN_SENT);
    return circumstances.headers?.['Retry-After'];
  });
  expect(new Set(seconds)).toEqual(new Set(['2', '3', '4']));
});

it.each([
  { reason: 'missing', challenge: 'Bearer realm="order-lookup-services"' },
  { reason: 'scheme', challenge: 'Bearer realm="order-lookup-services"' },
  { reason: 'expired', challenge: 'Bearer realm="order-lookup-services", error="invalid_token"' },
] as const)('the challenge to a token that is refused as $reason is $challenge', ({ reason, challenge }) => {
  const { refusals, request } = createRefusals();
  const { circumstances } = refusals.problemForToken(request, refused(reason));
  expect(circumstances.headers?.['WWW-Authenticate']).toContain(challenge);
});
