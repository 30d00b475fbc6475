import type { ParsedUrlQuery } from 'node:querystring';
import {
  type ArgumentMetadata,
  Injectable,
  type ValidationError,
  ValidationPipe,
} from '@nestjs/common';
import { API_KEY_PREFIX } from '../auth/api-keys/api-key.js';
import { FILTERS } from '../lookups/filters.js';
import { MAX_ISSUES, MAX_SHOWN_CHARACTERS } from '../problems/limits.js';
import { type Issue, Problem } from '../problems/problem.js';

const PARAMETERS = Object.keys(FILTERS);
/** In base64url: `{"`, with which the header of a token begins. */
const JSON_WEB_TOKEN_PREFIX = 'eyJ';

/**
 * Names all faults of a query at once. An unknown parameter is a fault, because to ignore a filter would return more
 * records than were asked for.
 */
@Injectable()
export class CommunicationCodesQueryPipe extends ValidationPipe {
  constructor() {
    super({
      transform: true,
      validationError: { value: true },
      exceptionFactory: (errors) => invalidQuery(errors.flatMap(issuesOf)),
    });
  }

  /** `forbidNonWhitelisted` would overlook `constructor` and `prototype`, which ValidationPipe removes before. */
  override async transform(query: ParsedUrlQuery, metadata: ArgumentMetadata): Promise<unknown> {
    const unknownNames = Object.keys(query).filter((name) => !PARAMETERS.includes(name));
    if (unknownNames.length === 0) return super.transform(query, metadata);
    const knownIssues = await this.issuesOfKnown(query, metadata);
    throw invalidQuery([...unknownNames.map(unknownParameter), ...knownIssues]);
  }

  private async issuesOfKnown(
    query: ParsedUrlQuery,
    metadata: ArgumentMetadata,
  ): Promise<readonly Issue[]> {
    try {
      await super.transform(onlyKnown(query), metadata);
      return [];
    } catch (error) {
      // What exceptionFactory made
      if (error instanceof Problem) return error.circumstances.issues ?? [];
      throw error;
    }
  }
}

function onlyKnown(query: ParsedUrlQuery): ParsedUrlQuery {
  const known = Object.entries(query).filter(([name]) => PARAMETERS.includes(name));
  return Object.fromEntries(known);
}

function invalidQuery(issues: readonly Issue[]): Problem {
  const isCut = issues.length > MAX_ISSUES;
  const count = isCut ? `More than ${MAX_ISSUES}` : String(issues.length);
  const noun = issues.length === 1 ? 'fault' : 'faults';
  return new Problem('invalid-query', {
    detail: `${count} ${noun} in the query. Nothing was looked up.`,
    issues: issues.slice(0, MAX_ISSUES),
  });
}

function issuesOf({ property, value, constraints = {} }: ValidationError): Issue[] {
  const text = Array.isArray(value) ? value.join(', ') : String(value);
  return Object.values(constraints).map((description) => ({
    description,
    field: property,
    location: 'query',
    value: shownValue(text),
  }));
}

/** Its value is not shown: it may be a credential in the wrong place. */
function unknownParameter(name: string): Issue {
  const known = `There is no such parameter: only ${PARAMETERS.join(' and ')} are known.`;
  const meant = PARAMETERS.find((parameter) => lettersOf(parameter) === lettersOf(name));
  const description = meant === undefined ? known : `${known} Did you mean ${meant}?`;
  return { description, field: shown(name), location: 'query' };
}

/** Without what is most often confused: case, `-` and `_`. */
const lettersOf = (name: string): string => name.toLowerCase().replaceAll(/[-_]/g, '');

/** Undefined where a key or token was sent in the wrong place. */
function shownValue(text: string): string | undefined {
  const isCredential = text.includes(API_KEY_PREFIX) || text.includes(JSON_WEB_TOKEN_PREFIX);
  return isCredential ? undefined : shown(text);
}

/** The beginning of a text. Half of a surrogate pair is not valid Unicode. */
const shown = (text: string): string =>
  text.slice(0, MAX_SHOWN_CHARACTERS).replace(/[\ud800-\udbff]$/, '');
