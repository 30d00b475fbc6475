// Tests the texts of problem-types.ts. The pages are made from them, so no test of the pages can notice a missing text.
import { expect, it } from '@jest/globals';
import { problemTypes } from './problem-types.js';

const WAIT = /Wait for the number of seconds in Retry-After.* Stop after three repeats\./;

it.each<{ slug: keyof typeof problemTypes; status: number; meaning: RegExp; remedy: readonly RegExp[] }>([
  {
    slug: 'malformed-request',
    status: 400,
    meaning: /did not process.* sent more than once or contains a comma/,
    remedy: [/Api-Key and Authorization once/, /Read the detail and the issues/],
  },
  {
    slug: 'invalid-query',
    status: 400,
    meaning: /unknown, empty, given more than once, too long or wrongly encoded/,
    remedy: [/at most once, with 1 to 256 characters/, /Percent-encode .* UTF-8/, /Read the issues/],
  },
  {
    slug: 'missing-credentials',
    status: 401,
    meaning: /lacks the header Api-Key, the header Authorization, or both/,
    remedy: [/API key in the header Api-Key/, /access token in the header Authorization, as Bearer/],
  },
  {
    slug: 'invalid-credentials',
    status: 401,
    meaning: /API key or the access token is not valid/,
    remedy: [
      /If the issues name Api-Key: .* expired or was revoked/,
      /If the issues name Authorization: request a new access token/,
      /not the ID token or the refresh token/,
    ],
  },
  {
    slug: 'insufficient-scope',
    status: 403,
    meaning: /lacks the scope/,
    remedy: [/scope that the WWW-Authenticate header names/, /If it is a role/],
  },
  { slug: 'not-found', status: 404, meaning: /case-sensitive.* no trailing slash/, remedy: [/\/docs/] },
  { slug: 'method-not-allowed', status: 405, meaning: /does not support the method/, remedy: [/the Allow header/] },
  {
    slug: 'request-timeout',
    status: 408,
    meaning: /within 10 seconds/,
    remedy: [/on a new connection, without pauses/],
  },
  { slug: 'headers-too-large', status: 431, meaning: /larger than 16 KiB/, remedy: [/Remove headers and cookies/] },
  { slug: 'too-many-requests', status: 429, meaning: /used up its limit of requests per minute/, remedy: [WAIT] },
  {
    slug: 'internal-error',
    status: 500,
    meaning: /failed to answer.* under the id in instance/,
    remedy: [/after 1, 10 and 60 seconds, then stop/, /send the instance .* to the support/],
  },
  {
    slug: 'not-ready',
    status: 503,
    meaning: /no codes that it can serve yet.* while it shuts down/,
    remedy: [WAIT],
  },
  {
    slug: 'cannot-verify-credentials',
    status: 503,
    meaning: /no current list of API keys or no signing keys.* may be valid/,
    remedy: [WAIT, /may then accept the same credentials/],
  },
])('the problem $slug has the status $status, and says what it means and what to do', (row) => {
  const { status, meaning, remedy } = problemTypes[row.slug];
  expect(status).toBe(row.status);
  expect(meaning).toMatch(row.meaning);
  expect(remedy).toEqual(row.remedy.map((form) => expect.stringMatching(form)));
});
