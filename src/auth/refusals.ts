import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { Configuration } from '../configuration/configuration.js';
import { type Issue, Problem, formatRetryAfter } from '../problems/problem.js';
import { Metrics } from '../telemetry/metrics.js';
import type { Caller, NotAccepted, RefusalReason, Undecided, Verdict } from './verdict.js';

interface Credential {
  /** The name in the log and the metrics. The dashboard and docs/at-night.md use it. */
  readonly name: string;
  readonly header: string;
  readonly remedy: string;
  /** The description in the answer if callers must not learn the reason. */
  readonly notValid: string;
}

const KEY_CREDENTIAL: Credential = {
  name: 'api_key',
  header: 'Api-Key',
  remedy: 'send your API key',
  notValid: 'Api-Key is not valid.',
};
const TOKEN_CREDENTIAL: Credential = {
  name: 'access_token',
  header: 'Authorization',
  remedy: 'send Bearer and an access token',
  notValid: 'Authorization contains no valid access token.',
};

/** A credential that is not accepted. `describeRefusal` decides whether callers learn the reason. */
interface RefusedCredential {
  readonly credential: Credential;
  readonly reason: RefusalReason;
}

const LEAST_RETRY_AFTER_SECONDS = 2;
const REALM = 'realm="order-lookup-services"';
const KEY_CHALLENGE = `ApiKey ${REALM}, header="Api-Key"`;
const BEARER_CHALLENGE = `Bearer ${REALM}`;
const REASONS_WITHOUT_TOKEN: readonly RefusalReason[] = ['missing', 'scheme'];

/**
 * Makes the problem documents for credentials that are missing, are not valid, or cannot be checked now. The documents
 * do not say why a credential is not valid, such as that it has expired. The log line and a metric have the reason.
 */
@Injectable()
export class Refusals {
  constructor(
    private readonly configuration: Configuration,
    private readonly metrics: Metrics,
  ) {}

  /**
   * Notes that the API key of a request is not accepted, and returns the problem: 400, 401 or 503.
   * @param token the token in the header Authorization, or the reason why the header has none
   */
  problemForKey(request: Request, key: NotAccepted, token: Verdict<string>): Problem {
    const keyRefusal: RefusedCredential = { credential: KEY_CREDENTIAL, reason: key.reason };
    const tokenRefusals: RefusedCredential[] =
      token.outcome === 'accepted' ? [] : [{ credential: TOKEN_CREDENTIAL, reason: token.reason }];
    const repeated = [keyRefusal, ...tokenRefusals].filter(({ reason }) => reason === 'repeated');
    if (repeated.length > 0) {
      this.note(request, repeated, key.owner);
      return createRepeatedProblem(repeated);
    }
    const isTokenMissing = tokenRefusals.some(({ reason }) => reason === 'missing');
    if (!isTokenMissing) {
      // A token was sent, but it is not checked. So problem, log and metric do not name it, even if its scheme is wrong
      this.note(request, [keyRefusal], key.owner);
      return key.outcome === 'undecided' ? createUndecidedProblem(key) : createUnauthorizedProblem([keyRefusal]);
    }
    // If the key cannot be checked now, it may be valid, so it is not named
    const refused = key.outcome === 'undecided' ? tokenRefusals : [keyRefusal, ...tokenRefusals];
    this.note(request, refused, key.owner);
    return createUnauthorizedProblem(refused);
  }

  /** Notes that the token of a request with a valid key is not accepted. Returns the problem: 400, 401, 403 or 503. */
  problemForToken(request: Request, token: NotAccepted): Problem {
    const refused = [{ credential: TOKEN_CREDENTIAL, reason: token.reason }];
    this.note(request, refused);
    if (token.outcome === 'undecided') return createUndecidedProblem(token);
    if (token.reason === 'repeated') return createRepeatedProblem(refused);
    request.context.tokenClient = token.tokenClient;
    return token.reason === 'scope' ? this.createScopeProblem() : createUnauthorizedProblem(refused);
  }

  private note({ context }: Request, refused: readonly RefusedCredential[], owner?: Caller): void {
    for (const { credential, reason } of refused) {
      this.metrics.credentialsRefused.inc({ credential: credential.name, reason });
    }
    context.refusal = {
      credential: refused.map(({ credential }) => credential.name).join(', '),
      reason: refused.map(({ reason }) => reason).join(', '),
      owner,
    };
  }

  private createScopeProblem(): Problem {
    const { OAUTH_REQUIRED_SCOPE: scope } = this.configuration;
    const challenge = `${BEARER_CHALLENGE}, error="insufficient_scope", scope="${scope}"`;
    return new Problem('insufficient-scope', {
      detail: 'The access token was not granted the scope that this service needs.',
      issues: [
        {
          description: `The access token lacks the scope ${scope}.`,
          field: TOKEN_CREDENTIAL.header,
          location: 'header',
        },
      ],
      headers: { 'WWW-Authenticate': challenge },
    });
  }
}

/** Returns a 400. We check no value of a repeated header: a gateway in front of us may have checked another value. */
function createRepeatedProblem(refused: readonly RefusedCredential[]): Problem {
  return new Problem('malformed-request', {
    detail: 'A credential header was sent more than once, or contains a comma.',
    issues: refused.map(toIssue),
  });
}

function createUndecidedProblem({ explanation }: Undecided): Problem {
  return new Problem('cannot-verify-credentials', {
    detail: `${explanation} The credentials may be valid.`,
    headers: { 'Retry-After': formatRetryAfter(LEAST_RETRY_AFTER_SECONDS) },
  });
}

function createUnauthorizedProblem(refused: readonly RefusedCredential[]): Problem {
  const circumstances = {
    issues: refused.map(toIssue),
    headers: { 'WWW-Authenticate': [KEY_CHALLENGE, formatBearerChallenge(refused)] },
  };
  if (refused.every(({ reason }) => reason === 'missing')) {
    return new Problem('missing-credentials', {
      detail: 'The request lacks credentials. Both headers are needed: Api-Key and Authorization.',
      ...circumstances,
    });
  }
  // Unknown, revoked and expired keys get the same answer, so that somebody who guesses keys learns nothing
  return new Problem('invalid-credentials', {
    detail: 'The credentials of the request are not valid.',
    ...circumstances,
  });
}

/** Returns the challenge for the token. The challenge has `error` only if a token was sent (RFC 6750 section 3.1). */
function formatBearerChallenge(refused: readonly RefusedCredential[]): string {
  const isSentTokenRefused = refused.some(({ credential, reason }) => {
    return credential === TOKEN_CREDENTIAL && !REASONS_WITHOUT_TOKEN.includes(reason);
  });
  return isSentTokenRefused ? `${BEARER_CHALLENGE}, error="invalid_token"` : BEARER_CHALLENGE;
}

function toIssue(refused: RefusedCredential): Issue {
  return { description: describeRefusal(refused), field: refused.credential.header, location: 'header' };
}

function describeRefusal({ credential, reason }: RefusedCredential): string {
  const { header, remedy, notValid } = credential;
  switch (reason) {
    case 'missing':
      return `${header} is missing: ${remedy}.`;
    case 'repeated':
      return `${header} was sent more than once, or contains a comma: send it once, without a comma.`;
    case 'scheme':
      return `${header} has another scheme than Bearer: ${remedy}.`;
    default:
      return notValid;
  }
}
