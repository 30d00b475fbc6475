import { Injectable } from '@nestjs/common';
import { Configuration } from '../configuration/configuration.js';
import { type Issue, Problem, retryAfter } from '../problems/problem.js';
import { Metrics } from '../telemetry/metrics.js';
import { metadataAddress } from './protected-resource/protected-resource.js';
import type { Verdict } from './verdict.js';

const REALM = 'realm="order-lookup-services"';
const KEY_CHALLENGE = ['WWW-Authenticate', `ApiKey ${REALM}, header="Api-Key"`];

/** The problem documents for credentials that are missing, refused or cannot be checked. */
@Injectable()
export class Refusals {
  /** RFC 9728 section 5.1 */
  private readonly resourceMetadata: string;

  constructor(
    configuration: Configuration,
    private readonly metrics: Metrics,
  ) {
    const address = metadataAddress(configuration);
    this.resourceMetadata = address ? `, resource_metadata="${address}"` : '';
  }

  /** A credential header was sent twice. Different programs would read different values from it. */
  repeatedHeaders(repeated: readonly string[]): Problem {
    return new Problem('malformed-request', {
      detail: 'A credential header was sent more than once.',
      issues: repeated.map((field) =>
        headerIssue(field, `${field} was sent more than once: send it once.`),
      ),
    });
  }

  /** A 401 that names all faults at once. Unknown, revoked and expired keys get the same answer, so that the answer does not help to guess. */
  unauthorized(key: Verdict<unknown>, token: Verdict<unknown>): Problem {
    this.count('api_key', key);
    this.count('access_token', token);
    const wrong = key.kind === 'refused' || token.kind === 'refused';
    const wrongToken = token.kind === 'refused' && token.reason !== 'scheme';
    return new Problem(wrong ? 'invalid-credentials' : 'missing-credentials', {
      detail: wrong
        ? 'The credentials of the request are not valid.'
        : 'The request lacks credentials. Both headers are needed: Api-Key and Authorization.',
      issues: [
        ...issueOf(API_KEY, key, 'send your subscription key', 'is not valid'),
        ...issueOf(TOKEN, token, 'send Bearer and an access token', 'holds no valid access token'),
      ],
      // RFC 6750 section 3.1: no error code where no token was sent
      headers: [
        ...KEY_CHALLENGE,
        ...this.bearerChallenge(wrongToken ? ', error="invalid_token"' : ''),
      ],
    });
  }

  /** RFC 6750 section 3.1: "The request requires higher privileges than provided by the access token." */
  insufficientScope(scope: string): Problem {
    this.metrics.credentialsRefused.inc({ credential: 'access_token', reason: 'scope' });
    return new Problem('insufficient-scope', {
      detail: 'The access token was not granted the scope that this service needs.',
      issues: [headerIssue(TOKEN, `The access token lacks the scope ${scope}.`)],
      headers: this.bearerChallenge(`, error="insufficient_scope", scope="${scope}"`),
    });
  }

  cannotVerify(detail: string): Problem {
    return new Problem('cannot-verify-credentials', {
      detail: `${detail} The credentials may be valid.`,
      headers: retryAfter(2),
    });
  }

  private count(credential: string, verdict: Verdict<unknown>): void {
    const { kind } = verdict;
    if (kind === 'refused')
      this.metrics.credentialsRefused.inc({ credential, reason: verdict.reason });
    else if (kind === 'missing') this.metrics.credentialsRefused.inc({ credential, reason: kind });
  }

  private bearerChallenge(parameters: string): string[] {
    return ['WWW-Authenticate', `Bearer ${REALM}${parameters}${this.resourceMetadata}`];
  }
}

export const API_KEY = 'Api-Key';
export const TOKEN = 'Authorization';

const headerIssue = (field: string, description: string): Issue => ({
  description,
  field,
  location: 'header',
});

/** @param remedy what to do if it is missing, and `fault`, what is wrong if it was refused */
function issueOf(
  field: string,
  { kind }: Verdict<unknown>,
  remedy: string,
  fault: string,
): Issue[] {
  if (kind === 'missing') return [headerIssue(field, `${field} is missing: ${remedy}.`)];
  return kind === 'refused' ? [headerIssue(field, `${field} ${fault}.`)] : [];
}
