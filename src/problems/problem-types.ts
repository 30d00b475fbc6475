// All problem types. Problem documents and the pages at /problems are made from this table, and tests compare
// openapi.yaml with it.
import { HEADERS_TIMEOUT_MS, LIMITS } from './limits.js';

const WAIT = 'Wait for the number of seconds in Retry-After, then send the request again. Stop after three repeats.';

export interface ProblemType {
  readonly status: number;
  readonly title: string;
  readonly meaning: string;
  readonly remedy: readonly string[];
}

/** The texts are also written into HTML, so they must not contain `<` or `&`. */
export const problemTypes = {
  'malformed-request': {
    status: 400,
    title: 'The request is malformed',
    meaning:
      'The service did not process the request. The HTTP message or a value in it is not valid, its method is ' +
      'unknown, or a credential header was sent more than once or contains a comma.',
    remedy: [
      'Send each of the headers Api-Key and Authorization once, and the method in capitals.',
      'Read the detail and the issues: they name the part that is wrong.',
    ],
  },
  'invalid-query': {
    status: 400,
    title: 'A query parameter is not valid',
    meaning:
      'A query parameter is unknown, empty, given more than once, too long or wrongly encoded, or contains control ' +
      'characters. The service returns no records, because leaving out a filter would return more records than were ' +
      'asked for.',
    remedy: [
      `Use only the parameters of the operation, each at most once, with 1 to ${LIMITS.filter}.`,
      'Percent-encode the values in UTF-8.',
      'Read the issues: they list every parameter that is not valid.',
    ],
  },
  'missing-credentials': {
    status: 401,
    title: 'Credentials are missing',
    meaning: 'The request lacks the header Api-Key, the header Authorization, or both. Every operation needs both.',
    remedy: [
      'Send your API key in the header Api-Key.',
      'Send an OAuth 2.0 access token in the header Authorization, as Bearer and the token.',
    ],
  },
  'invalid-credentials': {
    status: 401,
    title: 'Credentials are not valid',
    meaning:
      'The API key or the access token is not valid. The issues say which of them. The response does not say why, ' +
      'because the reason would help an attacker to guess credentials.',
    remedy: [
      'If the issues name Api-Key: check that the key is complete. If it is, ask the administrator whether it has ' +
        'expired or was revoked.',
      'If the issues name Authorization: request a new access token. The token may have expired, or may have been ' +
        'issued for another audience.',
      'Send the access token, not the ID token or the refresh token.',
    ],
  },
  'insufficient-scope': {
    status: 403,
    title: 'The access token lacks a scope',
    meaning: 'Both credentials are valid, but the access token lacks the scope that this service requires.',
    remedy: [
      'Request an access token with the scope that the WWW-Authenticate header names.',
      'If it is a role, the administrators of the issuer have to give it to your client.',
    ],
  },
  'not-found': {
    status: 404,
    title: 'There is nothing at this address',
    meaning: 'No resource has this path. Paths are case-sensitive and have no trailing slash.',
    remedy: ['Compare the path with those in the documentation at /docs.'],
  },
  'method-not-allowed': {
    status: 405,
    title: 'The method is not allowed',
    meaning: 'The resource exists, but it does not support the method of the request.',
    remedy: ['Use one of the methods that the Allow header lists.'],
  },
  'request-timeout': {
    status: 408,
    title: 'The request took too long to arrive',
    meaning: `The headers of the request did not arrive within ${HEADERS_TIMEOUT_MS / 1000} seconds.`,
    remedy: ['Send the request again on a new connection, without pauses.'],
  },
  'headers-too-large': {
    status: 431,
    title: 'The headers are too large',
    meaning: `The request target and the headers together are larger than ${LIMITS.headers}.`,
    remedy: ['Remove headers and cookies that this service does not need.'],
  },
  'too-many-requests': {
    status: 429,
    title: 'Too many requests',
    meaning: 'The API key has used up its limit of requests per minute.',
    remedy: [WAIT],
  },
  'internal-error': {
    status: 500,
    title: 'The server met an unexpected condition',
    meaning:
      'The request was in order, but the service failed to answer it. The log of the service has the cause under the ' +
      'id in instance.',
    remedy: [
      'Send the request again after 1, 10 and 60 seconds, then stop.',
      'If the error remains, send the instance of the problem document to the support.',
    ],
  },
  'not-ready': {
    status: 503,
    title: 'The service is not ready',
    meaning:
      'The service has no codes that it can serve yet. /health/ready also sends this problem if the service has no ' +
      'current list of API keys or no signing key that can verify a token, and while it shuts down.',
    remedy: [WAIT],
  },
  'cannot-verify-credentials': {
    status: 503,
    title: 'Credentials cannot be verified now',
    meaning:
      'The service cannot check credentials now, because it has no current list of API keys or no signing keys of the ' +
      'issuer. The credentials of the request may be valid.',
    remedy: [WAIT, 'The service may then accept the same credentials.'],
  },
} satisfies Record<string, ProblemType>;

export type ProblemSlug = keyof typeof problemTypes;
