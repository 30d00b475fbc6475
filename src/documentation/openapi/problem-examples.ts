// Written by `npm run examples`: replies of the real program, with one id and one time.
import type { ProblemDetails } from '../../problems/problem-details.js';
import type { ProblemSlug } from '../../problems/problem-types.js';

export const problemExamples: Readonly<Record<ProblemSlug, ProblemDetails>> = {
  'malformed-request': {
    type: '/problems/malformed-request',
    title: 'The request is malformed',
    status: 400,
    detail: 'A credential header was sent more than once.',
    instance: 'urn:uuid:7f0c5a0e-3f64-4c3b-9d5c-1f2e3d4c5b6a',
    dateTime: '2026-11-21T09:30:00.000Z',
    issues: [
      {
        description: 'Api-Key was sent more than once: send it once.',
        field: 'Api-Key',
        location: 'header',
      },
    ],
  },
  'invalid-query': {
    type: '/problems/invalid-query',
    title: 'A query parameter is not valid',
    status: 400,
    detail: '2 faults in the query. Nothing was looked up.',
    instance: 'urn:uuid:7f0c5a0e-3f64-4c3b-9d5c-1f2e3d4c5b6a',
    dateTime: '2026-11-21T09:30:00.000Z',
    issues: [
      {
        description:
          'There is no such parameter: only codeType and code are known. Did you mean codeType?',
        field: 'codetype',
        location: 'query',
        value: 'USAGE',
      },
      {
        description: 'code is empty: give a value or leave it out.',
        field: 'code',
        location: 'query',
        value: '',
      },
    ],
  },
  'missing-credentials': {
    type: '/problems/missing-credentials',
    title: 'Credentials are missing',
    status: 401,
    detail: 'The request lacks credentials. Both headers are needed: Api-Key and Authorization.',
    instance: 'urn:uuid:7f0c5a0e-3f64-4c3b-9d5c-1f2e3d4c5b6a',
    dateTime: '2026-11-21T09:30:00.000Z',
    issues: [
      {
        description: 'Api-Key is missing: send your subscription key.',
        field: 'Api-Key',
        location: 'header',
      },
      {
        description: 'Authorization is missing: send Bearer and an access token.',
        field: 'Authorization',
        location: 'header',
      },
    ],
  },
  'invalid-credentials': {
    type: '/problems/invalid-credentials',
    title: 'Credentials are not valid',
    status: 401,
    detail: 'The credentials of the request are not valid.',
    instance: 'urn:uuid:7f0c5a0e-3f64-4c3b-9d5c-1f2e3d4c5b6a',
    dateTime: '2026-11-21T09:30:00.000Z',
    issues: [
      {
        description: 'Authorization holds no valid access token.',
        field: 'Authorization',
        location: 'header',
      },
    ],
  },
  'insufficient-scope': {
    type: '/problems/insufficient-scope',
    title: 'The access token lacks a scope',
    status: 403,
    detail: 'The access token was not granted the scope that this service needs.',
    instance: 'urn:uuid:7f0c5a0e-3f64-4c3b-9d5c-1f2e3d4c5b6a',
    dateTime: '2026-11-21T09:30:00.000Z',
    issues: [
      {
        description: 'The access token lacks the scope orders:read.',
        field: 'Authorization',
        location: 'header',
      },
    ],
  },
  'not-found': {
    type: '/problems/not-found',
    title: 'There is nothing at this address',
    status: 404,
    detail:
      'There is nothing at this address. Paths are case-sensitive and have no trailing slash.',
    instance: 'urn:uuid:7f0c5a0e-3f64-4c3b-9d5c-1f2e3d4c5b6a',
    dateTime: '2026-11-21T09:30:00.000Z',
  },
  'method-not-allowed': {
    type: '/problems/method-not-allowed',
    title: 'The method is not allowed',
    status: 405,
    detail: 'The lookups are read-only: use GET, HEAD or OPTIONS.',
    instance: 'urn:uuid:7f0c5a0e-3f64-4c3b-9d5c-1f2e3d4c5b6a',
    dateTime: '2026-11-21T09:30:00.000Z',
  },
  'request-timeout': {
    type: '/problems/request-timeout',
    title: 'The request took too long to arrive',
    status: 408,
    detail: 'The request did not arrive in time.',
    instance: 'urn:uuid:7f0c5a0e-3f64-4c3b-9d5c-1f2e3d4c5b6a',
    dateTime: '2026-11-21T09:30:00.000Z',
  },
  'uri-too-long': {
    type: '/problems/uri-too-long',
    title: 'The request target is too long',
    status: 414,
    detail: 'The request target has more than 8000 bytes.',
    instance: 'urn:uuid:7f0c5a0e-3f64-4c3b-9d5c-1f2e3d4c5b6a',
    dateTime: '2026-11-21T09:30:00.000Z',
  },
  'headers-too-large': {
    type: '/problems/headers-too-large',
    title: 'The headers are too large',
    status: 431,
    detail: 'The headers have more than 16384 bytes.',
    instance: 'urn:uuid:7f0c5a0e-3f64-4c3b-9d5c-1f2e3d4c5b6a',
    dateTime: '2026-11-21T09:30:00.000Z',
  },
  'too-many-requests': {
    type: '/problems/too-many-requests',
    title: 'Too many requests',
    status: 429,
    detail: 'The limit of 1 requests a minute for this key is used up.',
    instance: 'urn:uuid:7f0c5a0e-3f64-4c3b-9d5c-1f2e3d4c5b6a',
    dateTime: '2026-11-21T09:30:00.000Z',
  },
  'internal-error': {
    type: '/problems/internal-error',
    title: 'The server met an unexpected condition',
    status: 500,
    detail:
      'The server met an unexpected condition. It is in our log under the id of this occurrence.',
    instance: 'urn:uuid:7f0c5a0e-3f64-4c3b-9d5c-1f2e3d4c5b6a',
    dateTime: '2026-11-21T09:30:00.000Z',
  },
  'not-ready': {
    type: '/problems/not-ready',
    title: 'The service is not ready',
    status: 503,
    detail: 'The codes have not been read from the database yet.',
    instance: 'urn:uuid:7f0c5a0e-3f64-4c3b-9d5c-1f2e3d4c5b6a',
    dateTime: '2026-11-21T09:30:00.000Z',
  },
  overloaded: {
    type: '/problems/overloaded',
    title: 'The service is overloaded',
    status: 503,
    detail: 'More requests arrive than can be answered in time.',
    instance: 'urn:uuid:7f0c5a0e-3f64-4c3b-9d5c-1f2e3d4c5b6a',
    dateTime: '2026-11-21T09:30:00.000Z',
  },
  'cannot-verify-credentials': {
    type: '/problems/cannot-verify-credentials',
    title: 'Credentials cannot be verified now',
    status: 503,
    detail: 'The list of API keys has not been read yet. Your credentials may well be valid.',
    instance: 'urn:uuid:7f0c5a0e-3f64-4c3b-9d5c-1f2e3d4c5b6a',
    dateTime: '2026-11-21T09:30:00.000Z',
  },
};
