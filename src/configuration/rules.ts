// What a variable may hold, as class-validator rules whose sentences name the variable, what was found and what is needed.
import { Transform } from 'class-transformer';
import { ValidateBy, type ValidationArguments } from 'class-validator';

function rule(
  name: string,
  fault: (value: unknown, settings: Record<string, unknown>) => string | undefined,
): PropertyDecorator {
  return ValidateBy({
    name,
    validator: {
      validate: (value: unknown, args?: ValidationArguments) =>
        fault(value, (args?.object ?? {}) as Record<string, unknown>) === undefined,
      defaultMessage: (args?: ValidationArguments) =>
        `${args?.property} ${fault(args?.value, (args?.object ?? {}) as Record<string, unknown>)}`,
    },
  });
}

const parse = (value: unknown): URL | undefined =>
  typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined;
const isLoopback = ({ hostname }: URL): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);

/** A whole number in digits, `min` to `max` inclusive. */
export function WholeNumber({ min, max }: { min: number; max: number }): PropertyDecorator {
  const toNumber = Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value,
  );
  const check = rule('wholeNumber', (value) =>
    typeof value === 'number' && value >= min && value <= max
      ? undefined
      : `is "${String(value)}": a whole number from ${min} to ${max} is needed`,
  );
  return (target, property) => {
    toNumber(target, property);
    check(target, property);
  };
}

/** An absolute http or https address without user, query, fragment and trailing slash. */
export const HttpUrl = ({ optional = false } = {}): PropertyDecorator =>
  rule('httpUrl', (value) => {
    if (optional && value === '') return undefined;
    const url = parse(value);
    const fits =
      url &&
      /^https?:$/.test(url.protocol) &&
      !url.username &&
      !url.search &&
      !url.hash &&
      !String(value).endsWith('/');
    return fits
      ? undefined
      : `is "${String(value)}": an http or https address without a trailing slash is needed, such as https://orders.example.com`;
  });

/** An address of the issuer: https, or http on a loopback address, or http anywhere with OAUTH_ALLOW_HTTP. */
export const IssuerUrl = ({ optional = false } = {}): PropertyDecorator =>
  rule('issuerUrl', (value, settings) => {
    if (value === '')
      return optional
        ? undefined
        : 'is not set: the exact issuer (the iss claim) of the OAuth 2.0 provider is needed, such as https://login.example.com';
    const url = parse(value);
    if (!url || !/^https?:$/.test(url.protocol) || url.username || url.hash)
      return `is "${String(value)}": an https address is needed`;
    if (url.protocol === 'https:' || isLoopback(url) || settings['OAUTH_ALLOW_HTTP'] === true)
      return undefined;
    return `is "${String(value)}": https is needed, since anyone on the way could replace the keys; on a test network set OAUTH_ALLOW_HTTP=true`;
  });

/** A connection string of PostgreSQL. It holds a password, so the sentence never quotes it. */
export const PostgresUrl = (): PropertyDecorator =>
  rule('postgresUrl', (value) => {
    const form =
      'a connection string such as postgres://user:password@host:5432/database is needed';
    if (value === '') return `is not set: ${form}`;
    return /^postgres(ql)?:$/.test(parse(value)?.protocol ?? '')
      ? undefined
      : `is not a connection string of PostgreSQL: ${form}`;
  });

/** A list whose every entry matches. */
export const Each = (pattern: RegExp, needed: string): PropertyDecorator =>
  rule('each', (value) => {
    const wrong = (value as string[]).find((entry) => !pattern.test(entry));
    return wrong === undefined ? undefined : `holds "${wrong}": each entry has to be ${needed}`;
  });
