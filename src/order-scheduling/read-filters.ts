import leven from 'leven';
import { looksLikeCredential } from '../auth/looks-like-credential.js';
import { FILTERS, type Filter, type Filters } from '../codes/filters.js';
import {
  LIMITS,
  MAX_FILTER_CHARACTERS,
  MAX_ISSUES,
  MAX_SHOWN_CHARACTERS,
} from '../problems/limits.js';
import { type Issue, Problem } from '../problems/problem.js';
import { type Parameter, parseQuery } from './parse-query.js';

const NAMES = Object.keys(FILTERS) as Filter[];

/** Largest edit distance at which an unknown name gets a hint. */
const NEAR = 3;
/** Shown instead of the name of a parameter that looks like a credential. */
const LEFT_OUT = '[left out]';

/**
 * The filters of a request target.
 * @param apiKey of the request: it is never shown
 * @throws Problem invalid-query with all faults at once: ignoring a filter would return more records than were asked for
 */
export function readFilters(target: string, apiKey = ''): Filters {
  const start = target.indexOf('?');
  const filters: { [name in Filter]?: string } = {};
  if (start < 0) return filters;
  const issues: Issue[] = [];
  for (const parameter of parseQuery(target.slice(start + 1))) {
    for (const fault of faultsOf(parameter, filters))
      issues.push(issueOf(parameter, fault, apiKey));
    if (issues.length >= MAX_ISSUES) break;
    const { name, value } = parameter;
    if (isFilter(name)) filters[name] ??= value ?? '';
  }
  const count = Math.min(issues.length, MAX_ISSUES);
  if (count > 0)
    throw new Problem('invalid-query', {
      detail: `${count < MAX_ISSUES ? '' : 'At least '}${count} fault${count > 1 ? 's' : ''} in the query. Nothing was looked up.`,
      issues: issues.slice(0, MAX_ISSUES),
    });
  return filters;
}

const isFilter = (name: string | undefined): name is Filter =>
  name !== undefined && Object.hasOwn(FILTERS, name);

/** @param given the filters before this one */
function faultsOf({ name, value }: Parameter, given: Filters): string[] {
  if (name === undefined || value === undefined)
    return ['The percent-encoding is broken or is not UTF-8.'];
  if (!isFilter(name)) return [unknown(name)];
  const faults: string[] = [];
  if (given[name] !== undefined) faults.push(`${name} is given more than once.`);
  if (value === '') faults.push(`${name} is empty: give a value or leave it out.`);
  // Characters are code points, as in PostgreSQL
  if (Array.from(value).length > MAX_FILTER_CHARACTERS)
    faults.push(`${name} has more than ${LIMITS.filter}.`);
  if (/\p{Cc}/u.test(value)) faults.push(`${name} holds control characters.`);
  return faults;
}

function unknown(name: string): string {
  const letters = name.toLowerCase().replaceAll(/[^a-z]/g, '');
  const [near] = NAMES.map((known) => ({ known, edits: leven(letters, known.toLowerCase()) })).sort(
    (a, b) => a.edits - b.edits,
  );
  const hint =
    near && near.edits <= Math.min(NEAR, near.known.length - 2)
      ? ` Did you mean ${near.known}?`
      : '';
  return `There is no such parameter: only ${NAMES.join(' and ')} are known.${hint}`;
}

/** The value that was sent, unless it looks like a credential. */
function issueOf(
  { rawName, rawValue, name = rawName, value = rawValue }: Parameter,
  description: string,
  apiKey: string,
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
