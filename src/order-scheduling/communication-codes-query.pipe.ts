import { Injectable, type PipeTransform } from '@nestjs/common';
import { validateSync } from 'class-validator';
import leven from 'leven';
import { looksLikeCredential } from '../auth/looks-like-credential.js';
import type { ServiceRequest } from '../http/service-request.js';
import { MAX_ISSUES, MAX_SHOWN_CHARACTERS } from '../problems/limits.js';
import { type Issue, Problem } from '../problems/problem.js';
import { CommunicationCodesQuery, PARAMETERS } from './communication-codes.query.js';
import { type Parameter, parseQuery } from './parse-query.js';

type Name = keyof CommunicationCodesQuery;

/** Largest edit distance at which an unknown name gets a hint. */
const NEAR = 3;
/** Shown instead of the name of a parameter that looks like a credential. */
const LEFT_OUT = '[left out]';

/**
 * The checked query of a request. All its faults are named at once, in the order of the parameters: to ignore a filter would return more records
 * than were asked for.
 */
@Injectable()
export class CommunicationCodesQueryPipe implements PipeTransform<ServiceRequest> {
  /** @throws Problem invalid-query */
  transform(request: ServiceRequest): CommunicationCodesQuery {
    const start = request.originalUrl.indexOf('?');
    if (start < 0) return new CommunicationCodesQuery();
    const parameters = parseQuery(request.originalUrl.slice(start + 1));
    const issues: Issue[] = [];
    const given: { [name in Name]?: string } = {};
    for (const parameter of parameters) {
      const { name, value } = parameter;
      for (const fault of faultsOf(parameter, given))
        issues.push(issueOf(parameter, fault, request.field('api-key')));
      if (issues.length >= MAX_ISSUES) break;
      if (isParameter(name)) given[name] ??= value ?? '';
    }
    const count = Math.min(issues.length, MAX_ISSUES);
    if (count > 0)
      throw new Problem('invalid-query', {
        detail: `${count < MAX_ISSUES ? '' : 'At least '}${count} fault${count > 1 ? 's' : ''} in the query. Nothing was looked up.`,
        issues: issues.slice(0, MAX_ISSUES),
      });
    return Object.assign(new CommunicationCodesQuery(), given);
  }
}

const isParameter = (name: string | undefined): name is Name => PARAMETERS.includes(name as Name);

/** @param given the parameters before this one */
function faultsOf({ name, value }: Parameter, given: CommunicationCodesQuery): string[] {
  if (name === undefined || value === undefined)
    return ['The percent-encoding is broken or is not UTF-8.'];
  if (!isParameter(name)) return [unknown(name)];
  const faults = validateSync(Object.assign(new CommunicationCodesQuery(), { [name]: value }));
  return [
    ...(given[name] === undefined ? [] : [`${name} is given more than once.`]),
    ...faults.flatMap(({ constraints = {} }) => Object.values(constraints)),
  ];
}

function unknown(name: string): string {
  const letters = name.toLowerCase().replaceAll(/[^a-z]/g, '');
  const [near] = PARAMETERS.map((known) => ({
    known,
    edits: leven(letters, known.toLowerCase()),
  })).toSorted((one, other) => one.edits - other.edits);
  const isNear = near && near.edits <= Math.min(NEAR, near.known.length - 2);
  const hint = isNear ? ` Did you mean ${near.known}?` : '';
  return `There is no such parameter: only ${PARAMETERS.join(' and ')} are known.${hint}`;
}

/** The value that was sent, unless it looks like a credential. */
function issueOf(
  { rawName, rawValue, name = rawName, value = rawValue }: Parameter,
  description: string,
  apiKey = '',
): Issue {
  const hidesName = looksLikeCredential(name, apiKey);
  const hidesValue = hidesName || looksLikeCredential(value, apiKey);
  return {
    description,
    field: hidesName ? LEFT_OUT : shown(name),
    location: 'query',
    ...(hidesValue ? {} : { value: shown(value) }),
  };
}

/** The beginning of a text, in whole characters: half of a surrogate pair is not valid Unicode. */
const shown = (text: string): string =>
  text.slice(0, MAX_SHOWN_CHARACTERS).replace(/[\ud800-\udbff]$/, '');
