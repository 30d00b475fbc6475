import { parse } from 'node:querystring';
import {
  type ExecutionContext,
  Injectable,
  type PipeTransform,
  applyDecorators,
  createParamDecorator,
} from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { IsOptional, IsString, ValidateBy, type ValidationError, validate } from 'class-validator';
import type { Request } from 'express';
import { API_KEY_PREFIX } from '../auth/api-keys/api-key.js';
import type { Filters } from '../lookups/codes-snapshot.js';
import { LIMITS, MAX_CODE_CHARACTERS, MAX_ISSUES, MAX_SHOWN_CHARACTERS } from '../problems/limits.js';
import { type Issue, Problem } from '../problems/problem.js';

/** The query of the communication codes. Each rule that a value breaks is an issue of its own. */
export class CommunicationCodesQuery implements Filters {
  @IsFilter()
  readonly codeType?: string;

  @IsFilter()
  readonly code?: string;
}

const PARAMETERS: readonly string[] = ['codeType', 'code'] satisfies (keyof CommunicationCodesQuery)[];
/** The first characters of a JSON web token: `{"` in base64url. */
const JSON_WEB_TOKEN_PREFIX = 'eyJ';
/** Stands before a text that cannot be decoded: half of a surrogate pair, which no text in UTF-8 holds. */
const UNDECODABLE = '\ud800';
const HALF_PAIR = /\p{Surrogate}/gu;

function IsFilter(): PropertyDecorator {
  return applyDecorators(
    IsOptional(),
    IsString({ message: '$property is given more than once.' }), // the query parser makes a list of such values
    TextRule({
      name: 'isDecodable',
      holds: (text) => text.search(HALF_PAIR) < 0,
      message: 'The percent-encoding of $property is broken or is not UTF-8.',
    }),
    TextRule({
      name: 'isNotEmpty',
      holds: (text) => text !== '',
      message: '$property is empty: give a value or leave it out.',
    }),
    TextRule({
      name: 'isShort',
      // The limit counts code points, as PostgreSQL counts characters
      holds: (text) => Array.from(text).length <= MAX_CODE_CHARACTERS,
      message: `$property has more than ${LIMITS.filter}.`,
    }),
    TextRule({
      name: 'hasNoControlCharacters',
      holds: (text) => !/\p{Cc}/u.test(text),
      message: '$property holds control characters.',
    }),
  );
}

interface TextRuleOptions {
  /** The name of the constraint, which must differ from those of the other rules. */
  readonly name: string;
  readonly holds: (text: string) => boolean;
  readonly message: string;
}

/** A rule for the text of a parameter. A list of texts passes, because IsString refuses it already. */
function TextRule({ name, holds, message }: TextRuleOptions): PropertyDecorator {
  const isMet = (value: unknown): boolean => typeof value !== 'string' || holds(value);
  return ValidateBy({ name, validator: { validate: isMet } }, { message });
}

/**
 * The query as it was sent, for the pipe below. Express's own parser silently replaces what cannot be decoded, and
 * drops all parameters behind the first thousand.
 */
export const QueryText = createParamDecorator((_data: unknown, context: ExecutionContext) => {
  const { url } = context.switchToHttp().getRequest<Request>();
  return /^[^?#]*\?([^#]*)/.exec(url)?.[1] ?? '';
});

/**
 * Checks the query, and names all faults at once. An unknown parameter is a fault, because to ignore a filter would
 * return more records than were asked for. Nest's own ValidationPipe drops `?constructor=a` unseen (docs/decisions.md).
 */
@Injectable()
export class CommunicationCodesQueryPipe implements PipeTransform<string, Promise<CommunicationCodesQuery>> {
  /** @throws Problem 400 with an issue for each fault */
  async transform(text: string): Promise<CommunicationCodesQuery> {
    const query = parse(text, '&', '=', { maxKeys: 0, decodeURIComponent: decode });
    const names = Object.keys(query);
    const knownNames = names.filter((name) => PARAMETERS.includes(name));
    const unknownNames = names.filter((name) => !PARAMETERS.includes(name));
    const knownParameters = Object.fromEntries(knownNames.map((name) => [name, query[name]]));

    const checkedQuery = plainToInstance(CommunicationCodesQuery, knownParameters);
    const errors = await validate(checkedQuery);
    if (unknownNames.length === 0 && errors.length === 0) return checkedQuery;
    throw invalidQuery([...unknownNames.map(describeUnknownParameter), ...errors.flatMap(describeFaultyParameter)]);
  }
}

/** A `+` has become a space before. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return UNDECODABLE + text;
  }
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

/** The issues of a parameter that exists: one for each rule that its value breaks. */
function describeFaultyParameter({ property, value, constraints = {} }: ValidationError): Issue[] {
  const text = Array.isArray(value) ? value.join(', ') : String(value);
  return Object.values(constraints).map((description) => ({
    description,
    field: property,
    location: 'query',
    value: isShowable(text) ? cutText(text) : undefined,
  }));
}

/**
 * The issue of a parameter that does not exist. Its value is left out: it may be a credential in the wrong place. So may
 * its name, where a credential is the whole query.
 */
function describeUnknownParameter(name: string): Issue {
  const known = `only ${PARAMETERS.join(' and ')} are known.`;
  if (name === '') {
    return { description: `A parameter has no name: ${known}`, field: name, location: 'query' };
  }
  const description = `There is no such parameter: ${known}${suggestParameter(name)}`;
  return { description, field: isCredential(name) ? '' : cutText(name), location: 'query' };
}

/** A question where the name differs from a parameter only in what is most often confused: letter case, `-` and `_`. */
function suggestParameter(name: string): string {
  const similar = PARAMETERS.find((parameter) => simplify(parameter) === simplify(name));
  return similar === undefined ? '' : ` Did you mean ${similar}?`;
}

function simplify(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '');
}

/** Whether a text could be decoded, and does not look like an API key or an access token in the wrong place. */
function isShowable(text: string): boolean {
  return !isCredential(text) && text.search(HALF_PAIR) < 0;
}

function isCredential(text: string): boolean {
  return text.includes(API_KEY_PREFIX) || text.includes(JSON_WEB_TOKEN_PREFIX);
}

/** The part of a text that an issue shows, without a half of a surrogate pair, which is not valid Unicode. */
function cutText(text: string): string {
  return text.replaceAll(HALF_PAIR, '').slice(0, MAX_SHOWN_CHARACTERS).replace(HALF_PAIR, '');
}
