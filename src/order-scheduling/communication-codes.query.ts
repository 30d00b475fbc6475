import { IsOptional, Length, Matches, type ValidationOptions, validateSync } from 'class-validator';
import leven from 'leven';
import { isOurs } from '../auth/api-keys/api-key.js';
import { BoundedMap } from '../auth/access-tokens/bounded-map.js';
import { parseQuery, shown } from '../http/query.js';
import type { Issue } from '../problems/problem.js';
import { Problem } from '../problems/problem.js';

const LENGTH: ValidationOptions = {
  message: ({ value, property }) =>
    value === ''
      ? `${property} is empty: give a value or leave it out.`
      : `${property} has more than 256 characters.`,
};
const PRINTABLE = { message: '$property holds control characters.' };

/** The filters of the communication codes operation. */
export class CommunicationCodesQuery {
  @IsOptional()
  @Length(1, 256, LENGTH)
  @Matches(/^\P{Cc}*$/u, PRINTABLE)
  codeType?: string;

  @IsOptional()
  @Length(1, 256, LENGTH)
  @Matches(/^\P{Cc}*$/u, PRINTABLE)
  code?: string;
}

const NAMES = ['codeType', 'code'] as const;
const NONE = Object.freeze(new CommunicationCodesQuery());
const MAX_ISSUES = 20;
/** Edits at which an unknown name still looks like one of ours. */
const NEAR = 3;

/** Filters by the query that they were read from. A query has 8,000 bytes at most, and most have 60. */
const recent = new BoundedMap<string, CommunicationCodesQuery>(1_000);

/**
 * The filters of a request target: the same object for the same query, as long as it is remembered.
 * @throws Problem invalid-query with all faults at once: a filter that is silently dropped would widen the answer
 */
export function filtersOf(target: string): CommunicationCodesQuery {
  const start = target.indexOf('?');
  if (start < 0) return NONE;
  const query = target.slice(start + 1);
  let filters = recent.get(query);
  if (!filters) recent.set(query, (filters = Object.freeze(readFilters(query))));
  return filters;
}

function readFilters(query: string): CommunicationCodesQuery {
  const { parameters, issues } = parseQuery(query);
  const given: Record<string, string> = {};
  for (const { name, value } of parameters) {
    if (!isFilter(name)) issues.push(unknown(name));
    else if (name in given) issues.push(issue(name, `${name} is given more than once.`, value));
    else given[name] = value;
  }
  const filters = Object.assign(new CommunicationCodesQuery(), given);
  for (const { property, constraints = {} } of validateSync(filters)) {
    for (const description of Object.values(constraints))
      issues.push(issue(property, description, given[property]));
  }
  if (issues.length > 0)
    throw new Problem('invalid-query', {
      detail: `${issues.length} fault${issues.length > 1 ? 's' : ''} in the query. Nothing was looked up.`,
      issues: issues.slice(0, MAX_ISSUES),
    });
  return filters;
}

const isFilter = (name: string): name is (typeof NAMES)[number] =>
  name === 'codeType' || name === 'code';

/** What was sent, unless it looks like a credential that got into the wrong place. */
const issue = (field: string, description: string, value: string | undefined): Issue => ({
  description,
  field: shown(field),
  location: 'query',
  ...(value === undefined || isOurs(value) || value.startsWith('eyJ')
    ? {}
    : { value: shown(value) }),
});

function unknown(name: string): Issue {
  const letters = name.toLowerCase().replaceAll(/[^a-z]/g, '');
  const near = NAMES.map((known) => ({ known, edits: leven(letters, known.toLowerCase()) })).sort(
    (a, b) => a.edits - b.edits,
  )[0];
  const hint =
    near && near.edits <= Math.min(NEAR, near.known.length - 2)
      ? ` Did you mean ${near.known}?`
      : '';
  return issue(
    name,
    `There is no such parameter: only codeType and code are known.${hint}`,
    undefined,
  );
}
