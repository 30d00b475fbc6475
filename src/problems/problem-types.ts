// The one table of problem types: the filter, the parser errors, the OpenAPI document and the pages at /problems are made from it.

import { HEADERS_TIMEOUT_MS, LIMITS, REQUEST_TIMEOUT_MS } from './limits.js';

/** What a problem type is. `remedy` is for the integrator who reads the page at its address. */
export interface ProblemType {
  readonly status: number;
  readonly title: string;
  readonly meaning: string;
  readonly remedy: readonly string[];
}

const types = {
  'malformed-request': {
    status: 400,
    title: 'The request is malformed',
    meaning:
      'The request breaks the rules of HTTP, carries a body or an expectation, or sends a credential header twice. It was not processed.',
    remedy: [
      'Send Api-Key and Authorization once each.',
      'Send no body: all operations are GET.',
      'Look at the issues for the part that is wrong.',
    ],
  },
  'invalid-query': {
    status: 400,
    title: 'A query parameter is not valid',
    meaning:
      'A filter is unknown, empty, repeated, too long or wrongly encoded. Nothing is returned, since dropping a filter would widen the answer.',
    remedy: [
      `Use only the parameters of the operation, each at most once, with 1 to ${LIMITS.filter}.`,
      'Percent-encode values in UTF-8.',
      'The issues name every fault of the request.',
    ],
  },
  'missing-credentials': {
    status: 401,
    title: 'Credentials are missing',
    meaning: 'Every operation needs both headers: Api-Key and Authorization.',
    remedy: [
      'Send your subscription key in Api-Key.',
      'Send an OAuth 2.0 access token in Authorization, as Bearer <token>.',
    ],
  },
  'invalid-credentials': {
    status: 401,
    title: 'Credentials are not valid',
    meaning:
      'The key or the access token was refused. The answer does not say why, so that nobody can guess his way in.',
    remedy: [
      'Check that the key is complete, not expired and not revoked.',
      'Get a new access token: it may have expired, or be meant for another audience.',
      'Send the access token, not the ID or refresh token.',
    ],
  },
  'insufficient-scope': {
    status: 403,
    title: 'The access token lacks a scope',
    meaning:
      'Both credentials are valid, but the token was not granted the scope that this service needs.',
    remedy: ['Ask for the scope named in the WWW-Authenticate header when you get the token.'],
  },
  'not-found': {
    status: 404,
    title: 'There is nothing at this address',
    meaning: 'Paths are case-sensitive and have no trailing slash.',
    remedy: ['Compare the path with the documentation at /docs.'],
  },
  'method-not-allowed': {
    status: 405,
    title: 'The method is not allowed',
    meaning: 'The lookups are read-only.',
    remedy: ['Use GET, HEAD or OPTIONS, as the Allow header says.'],
  },
  'request-timeout': {
    status: 408,
    title: 'The request took too long to arrive',
    meaning: `The headers have to arrive within ${HEADERS_TIMEOUT_MS / 1000} seconds, the whole request within ${REQUEST_TIMEOUT_MS / 1000}.`,
    remedy: ['Send the request again, at once and whole.'],
  },
  'uri-too-long': {
    status: 414,
    title: 'The request target is too long',
    meaning: `A target may have at most ${LIMITS.target}.`,
    remedy: [`Shorten the query: each filter holds at most ${LIMITS.filter}.`],
  },
  'headers-too-large': {
    status: 431,
    title: 'The headers are too large',
    meaning: `All headers together may have at most ${LIMITS.headers}, and at most ${LIMITS.headerLines}.`,
    remedy: ['Leave out headers and cookies that this service does not need.'],
  },
  'too-many-requests': {
    status: 429,
    title: 'Too many requests',
    meaning: 'The limit of requests per minute for this key is used up.',
    remedy: [
      'Wait as long as Retry-After says.',
      'Ask with If-None-Match: an answer 304 costs nothing.',
    ],
  },
  'internal-error': {
    status: 500,
    title: 'The server met an unexpected condition',
    meaning: 'The fault is ours. It is in our log under the id of this occurrence.',
    remedy: ['Try again later.', 'If it stays, tell us the instance of the problem document.'],
  },
  'not-ready': {
    status: 503,
    title: 'The service is not ready',
    meaning: 'The codes have not been read from the database yet.',
    remedy: ['Try again after the time that Retry-After gives.'],
  },
  overloaded: {
    status: 503,
    title: 'The service is overloaded',
    meaning: 'More requests arrive than can be answered in time.',
    remedy: ['Try again after the time that Retry-After gives, and later each time.'],
  },
  'cannot-verify-credentials': {
    status: 503,
    title: 'Credentials cannot be verified now',
    meaning:
      'The keys of the issuer or the list of API keys are not at hand. Your credentials may well be valid.',
    remedy: ['Try again with the same credentials after the time that Retry-After gives.'],
  },
} as const satisfies Record<string, ProblemType>;

export type ProblemSlug = keyof typeof types;

export const problemTypes: Readonly<Record<ProblemSlug, ProblemType>> = types;
