import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { Configuration } from '../configuration/configuration.js';
import { type Issue, Problem, retryAfter } from '../problems/problem.js';
import { Metrics } from '../telemetry/metrics.js';
import type { NotAccepted } from './verdict.js';

interface Credential {
  /** The name in the log and the metrics, by which the dashboard and docs/at-night.md go. */
  readonly name: string;
  readonly header: string;
  readonly remedy: string;
  readonly invalid: string;
}

const API_KEY: Credential = {
  name: 'api_key',
  header: 'Api-Key',
  remedy: 'send your subscription key',
  invalid: 'Api-Key is not valid.',
};
const ACCESS_TOKEN: Credential = {
  name: 'access_token',
  header: 'Authorization',
  remedy: 'send Bearer and an access token',
  invalid: 'Authorization holds no valid access token.',
};

/** A credential that is not accepted, with its verdict. */
interface UnacceptedCredential {
  readonly credential: Credential;
  readonly verdict: NotAccepted;
}

/** The verdicts on the credentials of a request that are not accepted, one at least. */
export interface Verdicts {
  readonly key?: NotAccepted;
  readonly token?: NotAccepted | undefined;
}

/** An issuer or a database that is away is asked again after about as long. */
const RETRY_AFTER_SECONDS = 2;
const REALM = 'realm="order-lookup-services"';
const KEY_CHALLENGE = `ApiKey ${REALM}, header="Api-Key"`;
const BEARER_CHALLENGE = `Bearer ${REALM}`;

/**
 * Makes the problem documents for credentials that are missing, not valid or cannot be checked. The log line of the
 * request says why; the document does not.
 */
@Injectable()
export class Refusals {
  constructor(
    private readonly configuration: Configuration,
    private readonly metrics: Metrics,
  ) {}

  /** Counts the refusal, keeps it for the log line of the request, and gives the answer to the request. */
  refuse(request: Request, verdicts: Verdicts): Problem {
    const refused = credentialsToName(verdicts);
    for (const { credential, verdict } of refused) {
      this.metrics.credentialsRefused.inc({ credential: credential.name, reason: verdict.reason });
    }
    request.context.refusal = {
      credential: refused.map(({ credential }) => credential.name).join(', '),
      reason: refused.map(({ verdict }) => verdict.reason).join(', '),
      owner: verdicts.key?.owner,
    };
    return this.toProblem(refused);
  }

  private toProblem(refused: readonly UnacceptedCredential[]): Problem {
    const verdicts = refused.map(({ verdict }) => verdict);
    const undecided = verdicts.find((verdict) => verdict.outcome === 'undecided');
    if (undecided) {
      return new Problem('cannot-verify-credentials', {
        detail: `${undecided.explanation} The credentials may be valid.`,
        headers: { 'Retry-After': retryAfter(RETRY_AFTER_SECONDS) },
      });
    }
    if (verdicts.every(({ reason }) => reason === 'scope')) return this.insufficientScope();
    const circumstances = {
      issues: refused.map(toIssue),
      headers: { 'WWW-Authenticate': [KEY_CHALLENGE, bearerChallenge(refused)] },
    };
    if (verdicts.every(({ reason }) => reason === 'missing')) {
      return new Problem('missing-credentials', {
        detail: 'The request lacks credentials. Both headers are needed: Api-Key and Authorization.',
        ...circumstances,
      });
    }
    // Unknown, revoked and expired keys get the same answer, so that it does not help to guess.
    return new Problem('invalid-credentials', {
      detail: 'The credentials of the request are not valid.',
      ...circumstances,
    });
  }

  private insufficientScope(): Problem {
    const { OAUTH_REQUIRED_SCOPE: scope } = this.configuration;
    const challenge = `${BEARER_CHALLENGE}, error="insufficient_scope", scope="${scope}"`;
    return new Problem('insufficient-scope', {
      detail: 'The access token was not granted the scope that this service needs.',
      issues: [
        {
          description: `The access token lacks the scope ${scope}.`,
          field: ACCESS_TOKEN.header,
          location: 'header',
        },
      ],
      headers: { 'WWW-Authenticate': challenge },
    });
  }
}

/**
 * The credentials that the answer names:
 * - If a header is missing, all but those that cannot be decided: the answer is 401 in any case.
 * - Otherwise, if a credential cannot be decided, that one alone: the answer is 503.
 * - Otherwise all that are refused: the answer is 401 or 403.
 */
function credentialsToName({ key, token }: Verdicts): readonly UnacceptedCredential[] {
  const refused: UnacceptedCredential[] = [];
  if (key) refused.push({ credential: API_KEY, verdict: key });
  if (token) refused.push({ credential: ACCESS_TOKEN, verdict: token });
  const undecided = refused.filter(({ verdict }) => verdict.outcome === 'undecided');
  const isOneMissing = refused.some(({ verdict }) => verdict.reason === 'missing');
  if (isOneMissing) return refused.filter(({ verdict }) => verdict.outcome === 'refused');
  return undecided.length > 0 ? undecided : refused;
}

/** The challenge for the token. It has `error` only where a token was sent (RFC 6750 section 3.1). */
function bearerChallenge(refused: readonly UnacceptedCredential[]): string {
  const token = refused.find(({ credential }) => credential === ACCESS_TOKEN);
  const isSent = token !== undefined && !['missing', 'scheme'].includes(token.verdict.reason);
  return isSent ? `${BEARER_CHALLENGE}, error="invalid_token"` : BEARER_CHALLENGE;
}

function toIssue({ credential, verdict }: UnacceptedCredential): Issue {
  const { header, remedy, invalid } = credential;
  const descriptions: Partial<Record<string, string>> = {
    missing: `${header} is missing: ${remedy}.`,
    scheme: `${header} has another scheme than Bearer: ${remedy}.`,
  };
  const description = descriptions[verdict.reason] ?? invalid;
  return { description, field: header, location: 'header' };
}
