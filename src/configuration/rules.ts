// Rules of class-validator for the variables. Their messages name the variable, what was found and what is needed.
import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { ValidateBy, type ValidationArguments } from 'class-validator';
import { databaseAddressFault } from './database-url.js';

type Settings = Record<string, unknown>;

/** @param fault what is wrong, in words that follow the name of the variable, or undefined */
function rule(
  name: string,
  fault: (value: unknown, settings: Settings) => string | undefined,
): PropertyDecorator {
  const faultOf = ({ value, object }: ValidationArguments): string | undefined =>
    fault(value, object as Settings);
  return ValidateBy({
    name,
    validator: {
      validate: (_value, args) => faultOf(args as ValidationArguments) === undefined,
      defaultMessage: (args) => `${args?.property} ${faultOf(args as ValidationArguments)}`,
    },
  });
}

/** Converts the text of the environment, or leaves it as it is. */
const converted = (convert: (text: string) => unknown): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' ? convert(value) : value,
  );

const parse = (value: unknown): URL | undefined =>
  typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined;
const isLoopback = ({ hostname }: URL): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);

/** A whole number in digits, `min` to `max` inclusive. */
export const WholeNumber = ({ min, max }: { min: number; max: number }): PropertyDecorator =>
  applyDecorators(
    converted((text) => (/^\d{1,9}$/.test(text) ? Number(text) : text)),
    rule('wholeNumber', (value) =>
      typeof value === 'number' && value >= min && value <= max
        ? undefined
        : `is "${String(value)}": a whole number from ${min} to ${max} is needed`,
    ),
  );

export const TrueOrFalse = (): PropertyDecorator =>
  applyDecorators(
    converted((text) => (text === 'true' ? true : text === 'false' ? false : text)),
    rule('trueOrFalse', (value) =>
      typeof value === 'boolean' ? undefined : `is "${String(value)}": true or false is needed`,
    ),
  );

/** A list, separated by commas; spaces around the commas are ignored. */
export const CommaSeparated = (): PropertyDecorator =>
  converted((text) => text.split(',').map((entry) => entry.trim()));

/** The value for an error message, without possible secrets: the part before an `@`, and a query. */
const quoted = (value: unknown): string =>
  `"${String(value)
    .replace(/^([a-z][a-z0-9+.-]*:\/\/)?.*@/is, '$1***@')
    .replace(/[?#].*$/s, (rest) => `${rest[0]}***`)}"`;

/** A port that no other server of the process uses. With 0 the system chooses one. */
export const OtherPortThan = (other: string): PropertyDecorator =>
  rule('otherPort', (value, settings) =>
    typeof value === 'number' && value !== 0 && value === settings[other]
      ? `is ${value}, and so is ${other}: two different ports are needed`
      : undefined,
  );

/** An absolute http or https address without user, query, fragment and trailing slash. */
export const HttpUrl = (): PropertyDecorator =>
  rule('httpUrl', (value) => {
    if (value === '') return undefined;
    const url = parse(value);
    const fits =
      url &&
      /^https?:\/\/[\w.~!$&'()*+,;=:%[\]/-]+$/i.test(value as string) &&
      !(value as string).endsWith('/');
    return fits
      ? undefined
      : `is ${quoted(value)}: an http or https address in ASCII without user, query, quotes and trailing slash is needed, such as https://orders.example.com${url && url.hostname.includes('xn--') ? `; the name in ASCII is ${url.hostname}` : ''}`;
  });

/** The fault of an issuer's address. It must use https, or http on a loopback address, or http anywhere with OAUTH_ALLOW_HTTP. */
function issuerUrlFault(value: string, settings: Record<string, unknown>): string | undefined {
  const url = parse(value);
  if (!url || !/^https?:$/.test(url.protocol))
    return `${quoted(value)}: an https address is needed`;
  if (/[@#]/.test(value))
    return `${quoted(value)}: an address without user, password and fragment is needed`;
  if (url.protocol === 'https:' || isLoopback(url) || settings['OAUTH_ALLOW_HTTP'] === true)
    return undefined;
  return `${quoted(value)}: https is needed, since anyone on the way could replace the keys; on a test network set OAUTH_ALLOW_HTTP=true`;
}

/** One or several issuers. */
export const IssuerUrls = (): PropertyDecorator =>
  rule('issuerUrls', (value, settings) => {
    const issuers = value as string[];
    if (issuers.length === 0)
      return 'is not set: the exact issuer (the iss claim) of the OAuth 2.0 provider is needed, such as https://login.example.com';
    const faults = issuers.map((issuer) => issuerUrlFault(issuer, settings));
    const fault = faults.find((found) => found !== undefined);
    if (fault !== undefined) return `${issuers.length > 1 ? 'holds' : 'is'} ${fault}`;
    const twice = issuers.find((issuer, at) => issuers.indexOf(issuer) !== at);
    return twice === undefined ? undefined : `holds ${quoted(twice)} twice: name each issuer once`;
  });

/** The address of the key set, if discovery is skipped. */
export const JwksUrl = (): PropertyDecorator =>
  rule('jwksUrl', (value, settings) => {
    if (value === '') return undefined;
    if ((settings['OAUTH_ISSUER'] as string[]).length > 1)
      return 'is set, and OAUTH_ISSUER names several issuers: leave it out, so that the keys of each are found by its metadata';
    const fault = issuerUrlFault(value as string, settings);
    return fault && `is ${fault}`;
  });

/** Stands at both variables of the database: each reports the faults that begin with its name. */
export const DatabaseAddress = (name: string): PropertyDecorator =>
  rule('databaseAddress', (_value, settings) => {
    const fault = databaseAddressFault(settings);
    return fault?.startsWith(`${name} `) ? fault.slice(name.length + 1) : undefined;
  });

/** A list in which every entry matches. */
export const Each = (pattern: RegExp, needed: string): PropertyDecorator =>
  rule('each', (value) => {
    const wrong = (value as string[]).find((entry) => !pattern.test(entry));
    return wrong === undefined
      ? undefined
      : `holds ${quoted(wrong)}: each entry has to be ${needed}`;
  });
