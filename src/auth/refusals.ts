import { Injectable } from '@nestjs/common';
import { Configuration } from '../configuration/configuration.js';
import type { Caller, ServiceRequest } from '../http/service-request.js';
import { type Issue, Problem, retryAfter } from '../problems/problem.js';
import { Metrics } from '../telemetry/metrics.js';
import { metadataAddress } from './protected-resource/protected-resource.js';
import type { RefusalReason, UndecidedReason, Verdict } from './verdict.js';

const REALM = 'realm="order-lookup-services"';
const KEY_CHALLENGE = ['WWW-Authenticate', `ApiKey ${REALM}, header="Api-Key"`];
const API_KEY = 'Api-Key';
const TOKEN = 'Authorization';
const HEADERS = { api_key: API_KEY, access_token: TOKEN };

export type Credential = keyof typeof HEADERS;
type Reason = 'missing' | 'repeated' | RefusalReason | UndecidedReason;
type Undecided = Extract<Verdict<unknown>, { kind: 'undecided' }>;
type Fault = readonly [credential: Credential, reason: Reason];

/** The problem documents for credentials that are missing, refused or cannot be checked. What callers are not told stands in the log line of the request. */
@Injectable()
export class Refusals {
  /** RFC 9728 section 5.1 */
  private readonly resourceMetadata: string;
  private readonly scope: string;

  constructor(
    configuration: Configuration,
    private readonly metrics: Metrics,
  ) {
    const address = metadataAddress(configuration);
    this.resourceMetadata = address ? `, resource_metadata="${address}"` : '';
    this.scope = configuration.OAUTH_REQUIRED_SCOPE;
  }

  /** A credential header was sent twice. Different programs would read different values from it. */
  repeatedHeaders(request: ServiceRequest, repeated: readonly Credential[]): Problem {
    this.note(
      request,
      repeated.map((credential) => [credential, 'repeated']),
    );
    return new Problem('malformed-request', {
      detail: 'A credential header was sent more than once.',
      issues: repeated.map((credential) =>
        headerIssue(
          HEADERS[credential],
          `${HEADERS[credential]} was sent more than once: send it once.`,
        ),
      ),
    });
  }

  /** For credentials that are not both valid. */
  refusal(request: ServiceRequest, key: Verdict<Caller>, token: Verdict<unknown>): Problem {
    const owner = key.kind === 'refused' ? key.owner : undefined;
    // A missing credential is reported in any case. If a credential cannot be checked, the answer is 503 and never a refusal.
    if (key.kind !== 'missing' && token.kind !== 'missing') {
      if (key.kind === 'undecided') return this.undecided(request, 'api_key', key);
      if (token.kind === 'undecided') return this.undecided(request, 'access_token', token, owner);
    }
    this.note(request, [...faultOf('api_key', key), ...faultOf('access_token', token)], owner);
    return this.unauthorized(key, token);
  }

  /** RFC 6750 section 3.1: "The request requires higher privileges than provided by the access token." */
  insufficientScope(request: ServiceRequest): Problem {
    this.note(request, [['access_token', 'scope']]);
    return new Problem('insufficient-scope', {
      detail: 'The access token was not granted the scope that this service needs.',
      issues: [headerIssue(TOKEN, `The access token lacks the scope ${this.scope}.`)],
      headers: this.bearerChallenge(`, error="insufficient_scope", scope="${this.scope}"`),
    });
  }

  private undecided(
    request: ServiceRequest,
    credential: Credential,
    { reason, detail }: Undecided,
    owner?: Caller,
  ): Problem {
    this.note(request, [[credential, reason]], owner);
    return new Problem('cannot-verify-credentials', {
      detail: `${detail} The credentials may be valid.`,
      headers: retryAfter(2),
    });
  }

  /** A 401 that names all faults at once. Unknown, revoked and expired keys get the same answer, so that the answer does not help to guess. */
  private unauthorized(key: Verdict<unknown>, token: Verdict<unknown>): Problem {
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

  /** Counts the faults, and keeps them for the log line of the request. */
  private note(request: ServiceRequest, faults: readonly Fault[], owner?: Caller): void {
    for (const [credential, reason] of faults)
      this.metrics.credentialsRefused.inc({ credential, reason });
    request.refusal = {
      credential: faults.map(([credential]) => credential).join(', '),
      reason: faults.map(([, reason]) => reason).join(', '),
      ...(owner ? { keyId: owner.keyId, client: owner.client } : {}),
    };
  }

  private bearerChallenge(parameters: string): string[] {
    return ['WWW-Authenticate', `Bearer ${REALM}${parameters}${this.resourceMetadata}`];
  }
}

function faultOf(credential: Credential, verdict: Verdict<unknown>): Fault[] {
  if (verdict.kind === 'missing') return [[credential, 'missing']];
  return verdict.kind === 'refused' ? [[credential, verdict.reason]] : [];
}

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
