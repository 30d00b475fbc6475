import type { RequestHead } from '../http/request-head.js';
import { type Issue, Problem } from '../problems/problem.js';
import { retryAfter } from '../problems/retry-after.js';
import type { Tally } from '../telemetry/deferred-metrics.js';
import { credentialsRefused } from '../telemetry/metrics.js';
import type { Verdict } from './verdict.js';

const REALM = 'realm="order-lookup-services"';
const KEY_CHALLENGE = ['WWW-Authenticate', `ApiKey ${REALM}, header="Api-Key"`];
const bearerChallenge = (parameters = ''): string[] => [
  'WWW-Authenticate',
  `Bearer ${REALM}${parameters}`,
];

/** A header sent twice: what would count depends on who reads it. */
export const repeatedHeaders = ({ apiKeys, authorizations }: RequestHead): Problem =>
  new Problem('malformed-request', {
    detail: 'A credential header was sent more than once.',
    issues: [
      ...(apiKeys > 1
        ? [headerIssue('Api-Key', 'Api-Key was sent more than once: send it once.')]
        : []),
      ...(authorizations > 1
        ? [headerIssue('Authorization', 'Authorization was sent more than once: send it once.')]
        : []),
    ],
  });

/** One 401 that names every fault at once and helps nobody to guess: unknown, revoked and expired are told alike. */
export function unauthorized(key: Verdict<unknown>, token: Verdict<unknown>): Problem {
  const name = `${reasonOf(key)} ${reasonOf(token)}`;
  let refusal = refusals.get(name);
  if (!refusal) {
    refusal = {
      problem: unauthorizedProblem(key, token),
      tallies: [...tallyOf('api_key', key), ...tallyOf('access_token', token)],
    };
    refusals.set(name, refusal);
  }
  for (const tally of refusal.tallies) tally.inc();
  return refusal.problem;
}

interface Refusal {
  readonly problem: Problem;
  readonly tallies: readonly Tally[];
}

/** Each is made once: there are no more of them than reasons to refuse two credentials. */
const refusals = new Map<string, Refusal>();

const reasonOf = (verdict: Verdict<unknown>): string =>
  verdict.kind === 'refused' ? verdict.reason : verdict.kind;

const tallyOf = (credential: string, verdict: Verdict<unknown>): Tally[] =>
  verdict.kind === 'refused' || verdict.kind === 'missing'
    ? [credentialsRefused.labels({ credential, reason: reasonOf(verdict) })]
    : [];

function unauthorizedProblem(key: Verdict<unknown>, token: Verdict<unknown>): Problem {
  const wrong = key.kind === 'refused' || token.kind === 'refused';
  const isOtherScheme = token.kind === 'refused' && token.reason === 'scheme';
  return new Problem(wrong ? 'invalid-credentials' : 'missing-credentials', {
    detail: wrong
      ? 'The credentials of the request are not valid.'
      : 'The request lacks credentials. Both headers are needed: Api-Key and Authorization.',
    issues: [
      ...issueOf(
        'Api-Key',
        key,
        'Api-Key is missing: send your subscription key.',
        'Api-Key is not valid.',
      ),
      ...issueOf(
        'Authorization',
        token,
        'Authorization is missing: send Bearer and an access token.',
        'Authorization holds no valid access token.',
      ),
    ],
    // RFC 6750 section 3.1: no error code where no token was sent
    headers: [
      ...KEY_CHALLENGE,
      ...bearerChallenge(
        token.kind === 'refused' && !isOtherScheme ? ', error="invalid_token"' : '',
      ),
    ],
  });
}

const outOfScope = credentialsRefused.labels({ credential: 'access_token', reason: 'scope' });

/** RFC 6750 section 3.1: "The request requires higher privileges than provided by the access token." */
export function insufficientScope(scope: string): Problem {
  outOfScope.inc();
  return new Problem('insufficient-scope', {
    detail: 'The access token was not granted the scope that this service needs.',
    issues: [headerIssue('Authorization', `The access token lacks the scope ${scope}.`)],
    headers: bearerChallenge(`, error="insufficient_scope", scope="${scope}"`),
  });
}

export const cannotVerify = (detail: string): Problem =>
  new Problem('cannot-verify-credentials', {
    detail: `${detail} Your credentials may well be valid.`,
    headers: retryAfter(2),
  });

const headerIssue = (field: string, description: string): Issue => ({
  description,
  field,
  location: 'header',
});

function issueOf(
  field: string,
  { kind }: Verdict<unknown>,
  whenMissing: string,
  whenRefused: string,
): Issue[] {
  if (kind === 'missing') return [headerIssue(field, whenMissing)];
  return kind === 'refused' ? [headerIssue(field, whenRefused)] : [];
}
