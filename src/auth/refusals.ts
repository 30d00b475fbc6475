import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { Configuration } from '../configuration/configuration.js';
import { type Issue, Problem, retryAfter } from '../problems/problem.js';
import { Metrics } from '../telemetry/metrics.js';
import type { Fault, KeyVerdict, TokenVerdict } from './fault.js';

interface Credential {
  /** In the log and the metrics. */
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

interface RefusedCredential {
  readonly credential: Credential;
  readonly fault: Fault;
}

const REALM = 'realm="order-lookup-services"';
const KEY_CHALLENGE = `ApiKey ${REALM}, header="Api-Key"`;
const BEARER_CHALLENGE = `Bearer ${REALM}`;

/** The problem documents for credentials that are missing, refused or cannot be checked. The log line says why. */
@Injectable()
export class Refusals {
  constructor(
    private readonly configuration: Configuration,
    private readonly metrics: Metrics,
  ) {}

  /**
   * Also counts the refusals, and keeps them for the log line of the request.
   * @param verdicts of which one at least is a refusal
   */
  problemFor(request: Request, verdicts: readonly [KeyVerdict, TokenVerdict]): Problem {
    const [key, token] = verdicts;
    const all: RefusedCredential[] = [];
    if (!key.isAccepted) all.push({ credential: API_KEY, fault: key.fault });
    if (!token.isAccepted) all.push({ credential: ACCESS_TOKEN, fault: token.fault });
    const named = refusedToName(all);
    for (const { credential, fault } of named)
      this.metrics.credentialsRefused.inc({ credential: credential.name, reason: fault.reason });
    request.context.refusal = {
      credential: named.map(({ credential }) => credential.name).join(', '),
      reason: named.map(({ fault }) => fault.reason).join(', '),
      owner: key.isAccepted ? undefined : key.fault.owner,
    };
    return this.problemOf(named);
  }

  private problemOf(refused: readonly RefusedCredential[]): Problem {
    const undecided = refused[0]?.fault.undecided;
    if (undecided !== undefined)
      return new Problem('cannot-verify-credentials', {
        detail: `${undecided} The credentials may be valid.`,
        headers: retryAfter(2),
      });
    if (refused[0]?.fault.reason === 'scope') return this.insufficientScope();
    const issues = refused.map(issueOf);
    const headers = { 'WWW-Authenticate': [KEY_CHALLENGE, bearerChallenge(refused)] };
    // Unknown, revoked and expired keys get the same answer, so that it does not help to guess
    if (refused.some(({ fault }) => fault.reason !== 'missing'))
      return new Problem('invalid-credentials', {
        detail: 'The credentials of the request are not valid.',
        issues,
        headers,
      });
    return new Problem('missing-credentials', {
      detail: 'The request lacks credentials. Both headers are needed: Api-Key and Authorization.',
      issues,
      headers,
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
 * The faults that the answer names:
 * - If a header is missing, all that are known: 401, whatever else cannot be decided.
 * - Otherwise, if a credential cannot be decided, that one alone: 503.
 * - Otherwise all: 401 or 403.
 */
function refusedToName(refused: readonly RefusedCredential[]): readonly RefusedCredential[] {
  const undecided = refused.filter(({ fault }) => fault.undecided !== undefined);
  if (refused.some(({ fault }) => fault.reason === 'missing'))
    return refused.filter(({ fault }) => fault.undecided === undefined);
  return undecided.length > 0 ? undecided : refused;
}

/** `error` only where a token was sent (RFC 6750 section 3.1). */
function bearerChallenge(refused: readonly RefusedCredential[]): string {
  const token = refused.find(({ credential }) => credential === ACCESS_TOKEN);
  const isSent = token !== undefined && !['missing', 'scheme'].includes(token.fault.reason);
  return isSent ? `${BEARER_CHALLENGE}, error="invalid_token"` : BEARER_CHALLENGE;
}

function issueOf({ credential, fault }: RefusedCredential): Issue {
  const { header, remedy, invalid } = credential;
  const description = fault.reason === 'missing' ? `${header} is missing: ${remedy}.` : invalid;
  return { description, field: header, location: 'header' };
}
