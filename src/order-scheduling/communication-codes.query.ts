import { Injectable, applyDecorators } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import {
  IsNotEmpty,
  IsOptional,
  Matches,
  ValidateBy,
  type ValidationError,
  type ValidationOptions,
  validateSync,
} from 'class-validator';
import { LRUCache } from 'lru-cache';
import { API_KEY_PREFIX } from '../auth/api-keys/api-key.js';
import { groupBy } from '../lookups/group-by.js';
import type { Filters } from '../lookups/codes-snapshot.js';
import { LIMITS, MAX_FILTER_CHARACTERS, MAX_ISSUES, MAX_SHOWN_CHARACTERS } from '../problems/limits.js';
import { type Issue, Problem } from '../problems/problem.js';

/** The filters of the communication codes, with their rules. A 400 has one issue for each rule that a value breaks. */
export class CommunicationCodesQuery implements Filters {
  @IsFilter()
  readonly codeType?: string;

  @IsFilter()
  readonly code?: string;
}

const PARAMETERS = ['codeType', 'code'] as const satisfies (keyof CommunicationCodesQuery)[];
type Parameters = Partial<Record<(typeof PARAMETERS)[number], string>>;
/** If a query has more names than this, more than MAX_ISSUES of them are unknown. Further faults would not be shown. */
const MAX_NAMES = MAX_ISSUES + PARAMETERS.length;
const MAX_REMEMBERED_QUERIES_BYTES = 8 * 1024 ** 2;
/** An estimate of the memory that a remembered query takes in addition to its target. */
const QUERY_ENTRY_BYTES = 512;
/** The first characters of a JSON web token: `{"` and a letter in base64url. */
const JSON_WEB_TOKEN_PREFIX = 'eyJ';
/** Half of a surrogate pair. The flag `u` reads a whole pair as one character, which does not match. */
const HALF_PAIR = /\p{Surrogate}/gu;

function IsFilter(): PropertyDecorator {
  return applyDecorators(
    IsOptional(),
    IsNotEmpty({ message: '$property is empty: give a value or leave it out.' }),
    // MaxLength would not count variation selectors, which PostgreSQL counts as characters
    Matches(new RegExp(`^.{0,${MAX_FILTER_CHARACTERS}}$`, 'su'), {
      message: `$property has more than ${LIMITS.filter}.`,
    }),
    HasNoControlCharacters({ message: '$property contains control characters.' }),
  );
}

/** Refuses control characters. With a second `Matches` instead, class-validator would keep only one of two messages. */
function HasNoControlCharacters(options: ValidationOptions): PropertyDecorator {
  const validate = (text: string): boolean => !/\p{Cc}/u.test(text);
  return ValidateBy({ name: 'hasNoControlCharacters', validator: { validate } }, options);
}

/**
 * Reads a query, and names all faults in one answer. This class is no pipe of Nest: a pipe would make a request
 * take a tenth more time. See docs/decisions.md, The query has a parser of ours.
 */
@Injectable()
export class CommunicationCodesQueryParser {
  /** The valid queries by target. The query alone as the key would save no memory: V8 would keep the target with it. */
  private readonly validQueries = new LRUCache<string, CommunicationCodesQuery>({
    maxSize: MAX_REMEMBERED_QUERIES_BYTES,
    sizeCalculation: (_query, target) => 2 * target.length + QUERY_ENTRY_BYTES,
  });

  /**
   * Reads the request target as it was sent. Express's `request.query` silently replaces text that cannot be decoded,
   * and lacks all parameters after the first thousand.
   * @throws Problem 400 with an issue for each fault
   */
  parse(target: string): CommunicationCodesQuery {
    const known = this.validQueries.get(target);
    if (known) return known;
    const { parameters, issues } = decodeQuery(cutQuery(target));
    const query = plainToInstance(CommunicationCodesQuery, parameters);
    issues.push(...validateSync(query).flatMap(describeInvalidParameter));
    if (issues.length > 0) throw describeInvalidQuery(issues);
    this.validQueries.set(target, query);
    return query;
  }
}

/** Returns `code=A` for the target `/codes?code=A#top`. */
function cutQuery(target: string): string {
  const [withoutFragment = ''] = target.split('#');
  const markIndex = withoutFragment.indexOf('?');
  return markIndex === -1 ? '' : withoutFragment.slice(markIndex + 1);
}

/** Returns the parameters that can be checked, and issues for all others: unknown, repeated and undecodable ones. */
function decodeQuery(query: string): { parameters: Parameters; issues: Issue[] } {
  const textsByName = groupByName(query);
  const unknownNames = [...textsByName.keys()].filter((name) => !(PARAMETERS as readonly string[]).includes(name));
  // If an unknown parameter were ignored, a caller with a misspelt filter would get more records than it asked for
  const issues = unknownNames.map(describeUnknownParameter);
  const parameters: Parameters = {};
  for (const name of PARAMETERS) {
    const encodedTexts = textsByName.get(name) ?? [];
    const texts = decodeTexts(encodedTexts);
    if (encodedTexts.length > 1) issues.push(describeRepeatedParameter(name, texts));
    else if (texts === undefined) issues.push(describeUndecodableParameter(name));
    else if (texts[0] !== undefined) parameters[name] = texts[0];
  }
  return { parameters, issues };
}

/**
 * Returns the encoded texts of each parameter, up to MAX_NAMES + 1 parameters. Decodes equal names only once, because a
 * name that cannot be decoded takes 20 µs, and a target may have 4,000 such names.
 */
function groupByName(query: string): Map<string, string[]> {
  const pairs = query
    .replaceAll('+', '%20')
    .split('&')
    .filter((pair) => pair !== '');
  const textsByName = new Map<string, string[]>();
  const pairsByEncodedName = groupBy(pairs.map(splitPair), (pair) => pair.encodedName);
  for (const [encodedName, pairsOfName] of pairsByEncodedName) {
    const name = decodeName(encodedName);
    const texts = textsByName.get(name) ?? []; // `%63ode` is the same name as `code`
    for (const { encodedText } of pairsOfName) texts.push(encodedText);
    textsByName.set(name, texts);
    if (textsByName.size > MAX_NAMES) break;
  }
  return textsByName;
}

function splitPair(pair: string): { encodedName: string; encodedText: string } {
  const [encodedName = '', ...rest] = pair.split('=');
  return { encodedName, encodedText: rest.join('=') }; // a text may contain `=`
}

/** Returns the decoded name, or the name as it was sent, if its percent-encoding is broken or is not UTF-8. */
function decodeName(encodedName: string): string {
  return decodeTexts([encodedName])?.[0] ?? encodedName;
}

/** Returns the decoded texts, or undefined if the percent-encoding of one text is broken or is not UTF-8. */
function decodeTexts(encodedTexts: readonly string[]): string[] | undefined {
  try {
    return encodedTexts.map((encodedText) => decodeURIComponent(encodedText));
  } catch {
    return undefined;
  }
}

function describeInvalidQuery(issues: readonly Issue[]): Problem {
  const isCut = issues.length > MAX_ISSUES;
  const count = isCut ? `More than ${MAX_ISSUES}` : String(issues.length);
  const noun = issues.length === 1 ? 'fault' : 'faults';
  return new Problem('invalid-query', {
    detail: `${count} ${noun} in the query. Nothing was looked up.`,
    issues: issues.slice(0, MAX_ISSUES),
  });
}

function describeInvalidParameter({ property, value, constraints = {} }: ValidationError): Issue[] {
  return Object.values(constraints).map((description) => {
    return { description, field: property, location: 'query', value: showText(String(value)) };
  });
}

function describeRepeatedParameter(name: string, texts: readonly string[] | undefined): Issue {
  const value = texts && showText(texts.join(', '));
  return { description: `${name} is given more than once.`, field: name, location: 'query', value };
}

function describeUndecodableParameter(name: string): Issue {
  const description = `The percent-encoding of ${name} is broken or is not UTF-8.`;
  return { description, field: name, location: 'query' };
}

/**
 * Returns the issue of a parameter that does not exist. The issue does not show the value, which may be a credential in
 * the wrong place. If the name may be a credential, as in `?ols_…`, the issue does not show the name, either.
 */
function describeUnknownParameter(name: string): Issue {
  const known = `only ${PARAMETERS.join(' and ')} are known.`;
  if (name === '') {
    return { description: `A parameter has no name: ${known}`, field: name, location: 'query' };
  }
  const description = `There is no such parameter: ${known}${suggestParameter(name)}`;
  return { description, field: isCredential(name) ? '' : cutText(name), location: 'query' };
}

/** Returns a question if the name is a parameter in another spelling, such as `code_type`; otherwise an empty text. */
function suggestParameter(name: string): string {
  const similar = PARAMETERS.find((parameter) => ignoreSpelling(parameter) === ignoreSpelling(name));
  return similar === undefined ? '' : ` Did you mean ${similar}?`;
}

function ignoreSpelling(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '');
}

/** Returns the part of a text that an issue shows; undefined if the text may be a credential. */
function showText(text: string): string | undefined {
  return isCredential(text) ? undefined : cutText(text);
}

function isCredential(text: string): boolean {
  return text.includes(API_KEY_PREFIX) || text.includes(JSON_WEB_TOKEN_PREFIX);
}

/** Cuts a text to the length that is shown. If the cut splits a surrogate pair, the half that is left is removed. */
function cutText(text: string): string {
  return text.slice(0, MAX_SHOWN_CHARACTERS).replace(HALF_PAIR, '');
}
