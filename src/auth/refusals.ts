import { Injectable } from '@nestjs/common';
import { Configuration } from '../configuration/configuration.js';
import type { ServiceRequest } from '../http/service-request.js';
import { type Issue, Problem, retryAfter } from '../problems/problem.js';
import { Metrics } from '../telemetry/metrics.js';
import type { Fault } from './fault.js';

const API_KEY = {
  credential: 'api_key',
  field: 'Api-Key',
  remedy: 'send your subscription key',
  invalid: 'Api-Key is not valid.',
};
const ACCESS_TOKEN: typeof API_KEY = {
  credential: 'access_token',
  field: 'Authorization',
  remedy: 'send Bearer and an access token',
  invalid: 'Authorization holds no valid access token.',
};
type Refused = Fault & typeof API_KEY;

const REALM = 'realm="order-lookup-services"';
const KEY_CHALLENGE = ['WWW-Authenticate', `ApiKey ${REALM}, header="Api-Key"`];
const BEARER = `Bearer ${REALM}`;

/** The problem documents for credentials that are missing, refused or cannot be checked. The log line of the request says why. */
@Injectable()
export class Refusals {
  /** By the reasons. Without this a 401 takes 13 % more CPU time. */
  private readonly made = new Map<string, ReturnType<Refusals['make']>>();

  constructor(
    private readonly configuration: Configuration,
    private readonly metrics: Metrics,
  ) {}

  of(request: ServiceRequest, key: Fault | undefined, token: Fault | undefined): Problem {
    const reasons = `${key?.reason}, ${token?.reason}`;
    const { faults, forLog, problem } = this.made.get(reasons) ?? this.make(reasons, key, token);
    for (const { credential, reason } of faults)
      this.metrics.credentialsRefused.inc({ credential, reason });
    request.refusal = { ...forLog, owner: key?.owner };
    return problem;
  }

  private make(reasons: string, key: Fault | undefined, token: Fault | undefined) {
    const all: Refused[] = [];
    if (key) all.push({ ...key, ...API_KEY });
    if (token) all.push({ ...token, ...ACCESS_TOKEN });
    const faults = faultsToName(all);
    const credential = faults.map((fault) => fault.credential).join(', ');
    const reason = faults.map((fault) => fault.reason).join(', ');
    const made = { faults, problem: this.problemOf(faults), forLog: { credential, reason } };
    // The Retry-After of a 503 is another each time
    if (made.problem.slug !== 'cannot-verify-credentials') this.made.set(reasons, made);
    return made;
  }

  private problemOf(faults: readonly Refused[]): Problem {
    const { OAUTH_REQUIRED_SCOPE: scope } = this.configuration;
    const issues = faults.map((fault) => issueOf(fault, scope));
    const [first] = faults;
    if (first?.undecided !== undefined)
      return new Problem('cannot-verify-credentials', {
        detail: `${first.undecided} The credentials may be valid.`,
        headers: retryAfter(2),
      });
    if (first?.reason === 'repeated')
      return new Problem('malformed-request', {
        detail: 'A credential header was sent more than once.',
        issues,
      });
    if (first?.reason === 'scope')
      return new Problem('insufficient-scope', {
        detail: 'The access token was not granted the scope that this service needs.',
        issues,
        headers: ['WWW-Authenticate', `${BEARER}, error="insufficient_scope", scope="${scope}"`],
      });
    // Unknown, revoked and expired keys get the same answer, so that it does not help to guess
    const isWrong = faults.some(({ reason }) => reason !== 'missing');
    const token = faults.find(({ field }) => field === ACCESS_TOKEN.field);
    const isSent = token && !['missing', 'scheme'].includes(token.reason);
    const bearer = isSent ? `${BEARER}, error="invalid_token"` : BEARER; // RFC 6750 section 3.1
    return new Problem(isWrong ? 'invalid-credentials' : 'missing-credentials', {
      detail: isWrong
        ? 'The credentials of the request are not valid.'
        : 'The request lacks credentials. Both headers are needed: Api-Key and Authorization.',
      issues,
      headers: [...KEY_CHALLENGE, 'WWW-Authenticate', bearer],
    });
  }
}

/** What is repeated comes first, then what is missing. Then 503 and not 401, if a credential cannot be checked. */
function faultsToName(faults: readonly Refused[]): readonly Refused[] {
  const repeated = faults.filter(({ reason }) => reason === 'repeated');
  if (repeated.length > 0) return repeated;
  const undecided = faults.filter((fault) => fault.undecided !== undefined);
  const isMissing = faults.some(({ reason }) => reason === 'missing');
  if (isMissing) return faults.filter((fault) => !undecided.includes(fault));
  return undecided.length > 0 ? undecided : faults;
}

function issueOf({ field, reason, remedy, invalid }: Refused, scope: string): Issue {
  const texts: Readonly<Record<string, string>> = {
    missing: `${field} is missing: ${remedy}.`,
    repeated: `${field} was sent more than once: send it once.`,
    scope: `The access token lacks the scope ${scope}.`,
  };
  return { description: texts[reason] ?? invalid, field, location: 'header' };
}
