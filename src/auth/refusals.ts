import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { Configuration } from '../configuration/configuration.js';
import { type Issue, Problem, retryAfter } from '../problems/problem.js';
import { Metrics } from '../telemetry/metrics.js';
import type { Fault } from './fault.js';

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

/** At least one of the two is there. */
export interface Faults {
  readonly key?: Fault;
  readonly token?: Fault | undefined;
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

  /** Counts the refusals, keeps them for the log line of the request, and gives its answer. */
  refuse(request: Request, faults: Faults): Problem {
    const refused = refusedToName(faults);
    for (const { credential, fault } of refused) {
      this.metrics.credentialsRefused.inc({ credential: credential.name, reason: fault.reason });
    }
    request.context.refusal = {
      credential: refused.map(({ credential }) => credential.name).join(', '),
      reason: refused.map(({ fault }) => fault.reason).join(', '),
      owner: faults.key?.owner,
    };
    return this.problemOf(refused);
  }

  private problemOf(refused: readonly RefusedCredential[]): Problem {
    const undecided = refused.find(isUndecided);
    if (undecided) {
      return new Problem('cannot-verify-credentials', {
        detail: `${undecided.fault.undecided} The credentials may be valid.`,
        headers: retryAfter(2),
      });
    }
    const reasons = refused.map(({ fault }) => fault.reason);
    if (reasons.includes('scope')) return this.insufficientScope();
    const circumstances = {
      issues: refused.map(issueOf),
      headers: { 'WWW-Authenticate': [KEY_CHALLENGE, bearerChallenge(refused)] },
    };
    if (reasons.every((reason) => reason === 'missing')) {
      return new Problem('missing-credentials', {
        detail:
          'The request lacks credentials. Both headers are needed: Api-Key and Authorization.',
        ...circumstances,
      });
    }
    // Unknown, revoked and expired keys get the same answer, so that it does not help to guess
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
 * The faults that the answer names:
 * - If a header is missing, all that are known: 401, whatever else cannot be decided.
 * - Otherwise, if a credential cannot be decided, that one alone: 503.
 * - Otherwise all: 401 or 403.
 */
function refusedToName({ key, token }: Faults): readonly RefusedCredential[] {
  const refused: RefusedCredential[] = [];
  if (key) refused.push({ credential: API_KEY, fault: key });
  if (token) refused.push({ credential: ACCESS_TOKEN, fault: token });
  const undecided = refused.filter(isUndecided);
  const isOneMissing = refused.some(({ fault }) => fault.reason === 'missing');
  if (isOneMissing) return refused.filter((each) => !isUndecided(each));
  return undecided.length > 0 ? undecided : refused;
}

function isUndecided({ fault }: RefusedCredential): boolean {
  return fault.undecided !== undefined;
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
