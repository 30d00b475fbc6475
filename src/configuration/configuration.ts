import { applyDecorators } from '@nestjs/common';
import {
  ArrayNotEmpty,
  ArrayUnique,
  IsBoolean,
  IsIn,
  Matches,
  Max,
  Min,
  ValidateBy,
  type ValidationOptions,
} from 'class-validator';
import { isIssuerAddress, isKeyAddress } from './key-address.js';

/** The end of the message about a variable whose value begins and ends with a quote. */
export const IS_QUOTED =
  'begins and ends with a quote: it is in two pairs of quotes, or the program that reads its file keeps quotes. ' +
  'Remove the quotes';
export const isQuoted = (text: string): boolean => /^(".*"|'.*')$/s.test(text);

const HOST_FORM = /^[A-Za-z0-9.:_-]*$/;
/** A scope of RFC 6749: printable ASCII except the space, `"` and `\`. We do not allow a comma, either. */
const SCOPE_FORM = /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]*$/;
/** An ASCII address such as https://orders.example.com/gateway, without @, ? and #, and without a slash at the end. */
const PUBLIC_ADDRESS_FORM = /^https?:\/\/[\w.~!$&'()*+,;=:%[\]/-]+(?<!\/)$/i;
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

/**
 * All environment variables of the service. The text of a variable is converted to the type of its default.
 * `.env.example` explains each variable.
 */
export class Configuration {
  /** The address to listen on. If it is empty, the service listens on all addresses of IPv4 and IPv6. */
  @Matches(HOST_FORM, needed('a host name or an IP address to listen on'))
  HOST = '';

  @WholeNumber(0, 65_535) PORT = 3000;

  /** The address to listen on for the management port. If it is empty, HOST is used. */
  @Matches(HOST_FORM, needed('a host name or an IP address to listen on'))
  MANAGEMENT_HOST = '';

  @WholeNumber(0, 65_535)
  @Rule((port: number, { PORT }: Configuration) => port === 0 || port !== PORT, needed('a port other than PORT'))
  MANAGEMENT_PORT = 3001;

  @Matches(/^(\/[\w.~-]+)*$/, needed('a path such as /lookups', 'without a slash at its end'))
  BASE_PATH = '';

  @Rule(isPublicAddress, needed('an address in ASCII such as https://orders.example.com', 'without a slash at its end'))
  PUBLIC_BASE_URL = '';

  // These two have no rule, because parseDatabaseAddress (database-url.ts) checks them, also for the commands
  DATABASE_URL = '';
  DATABASE_URL_FILE = '';

  @Rule(
    areIssuers,
    needed(
      'an https address without user, query and fragment (http is allowed on this machine, and on a test network ' +
        'with OAUTH_ALLOW_HTTP=true)',
      'or any name if OAUTH_JWKS_URI has the address of its keys',
    ),
  )
  @ArrayUnique(needed('a list that names each issuer once'))
  @ArrayNotEmpty(needed('the exact issuer (the iss claim) of the OAuth 2.0 provider'))
  OAUTH_ISSUER: string[] = [];

  @Rule(
    areAudiences,
    needed('the aud of access tokens for this service (separate several by commas)', 'or OAUTH_CLIENTS'),
  )
  OAUTH_AUDIENCE: string[] = [];

  @Matches(/^\S+$/, { each: true, ...needed('a list of client ids', 'separated by commas') })
  OAUTH_CLIENTS: string[] = [];

  @Rule(
    areKeyAddresses,
    needed('for each OAUTH_ISSUER an https address (http as for OAUTH_ISSUER)', 'or an empty entry'),
  )
  OAUTH_JWKS_URI: string[] = [];

  @Matches(SCOPE_FORM, needed('one scope (RFC 6749)', 'without a comma'))
  OAUTH_REQUIRED_SCOPE = '';

  @IsIn(['', 'at+jwt'], needed('at+jwt (RFC 9068)', 'or no value to accept the type JWT as well'))
  OAUTH_TOKEN_TYPE = '';

  @IsBoolean(needed('true or false')) OAUTH_ALLOW_HTTP = false;
  @WholeNumber(10, 86_400) API_KEY_MAX_AGE_SECONDS = 86_400;
  @WholeNumber(0, 3_600) DRAIN_SECONDS = 4;
  @WholeNumber(1, 86_400) KEEP_ALIVE_SECONDS = 75;
  @WholeNumber(0, 1_000_000) RATE_LIMIT_PER_MINUTE = 0;

  @Matches(/^https?:\/\/[\w.~:[\]-]+$/, {
    each: true,
    ...needed('a list of origins such as https://portal.example.com (scheme and host, no path)'),
  })
  CORS_ORIGINS: string[] = [];

  @WholeNumber(0, 100) TRUSTED_PROXY_HOPS = 0;
  @IsIn(['on', 'off'], needed('on or off')) DOCUMENTATION = 'on';

  // OTEL_ variables have no rules: a platform sets them for all its programs, and a wrong value must not stop the start
  OTEL_EXPORTER_OTLP_ENDPOINT = '';
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT = '';
  OTEL_SDK_DISABLED = 'false';
  // OpenTelemetry's packages read the next five. They are here because a test compares the class with .env.example
  OTEL_EXPORTER_OTLP_HEADERS = '';
  OTEL_SERVICE_NAME = 'order-lookup-services';
  OTEL_RESOURCE_ATTRIBUTES = '';
  OTEL_TRACES_SAMPLER = 'parentbased_always_on';
  OTEL_TRACES_SAMPLER_ARG = '';

  @Rule((level: string) => LOG_LEVELS.includes(level.toLowerCase()), needed(`one of ${LOG_LEVELS.join(', ')}`))
  LOG_LEVEL = 'info';

  /**
   * The address in front of the path of each operation: PUBLIC_BASE_URL, then BASE_PATH. If PUBLIC_BASE_URL ends with
   * BASE_PATH, the address is only PUBLIC_BASE_URL. If PUBLIC_BASE_URL is not set, the address is only BASE_PATH.
   */
  get baseAddress(): string {
    const { PUBLIC_BASE_URL: url, BASE_PATH: path } = this;
    const endsWithPath = url !== '' && new URL(url).pathname.endsWith(path);
    return endsWithPath ? url : url + path;
  }
}

function isPublicAddress(url: string): boolean {
  if (url === '') return true;
  return PUBLIC_ADDRESS_FORM.test(url) && URL.canParse(url);
}

function areIssuers(names: readonly string[], configuration: Configuration): boolean {
  return names.every((name, index) => {
    const hasKeyAddress = Boolean(configuration.OAUTH_JWKS_URI[index]);
    return name !== '' && (hasKeyAddress || isIssuerAddress(name, configuration));
  });
}

function areAudiences(names: readonly string[], { OAUTH_CLIENTS }: Configuration): boolean {
  const isNeeded = OAUTH_CLIENTS.length === 0;
  if (isNeeded && names.length === 0) return false;
  return names.every((name) => /^\S+$/.test(name));
}

function areKeyAddresses(addresses: readonly string[], configuration: Configuration): boolean {
  const { OAUTH_ISSUER: issuers } = configuration;
  if (addresses.length > 0 && addresses.length !== issuers.length) return false;
  return addresses.every((address) => address === '' || isKeyAddress(address, configuration));
}

/**
 * Returns the message of a rule: the variable, the value that was found, and the value that is needed.
 * @param clause more about the needed value, such as `without a slash at its end`
 */
function needed(what: string, clause?: string): ValidationOptions {
  const needs = clause === undefined ? what : `${what}, ${clause},`;
  return {
    message: ({ property, value }) => {
      const text = String(value);
      const found = text === '' ? 'not set' : `"${hideSecrets(text)}"`;
      return `${property} is ${found}: ${needs} is needed`;
    },
  };
}

/** Hides what may be a password: `https://user:secret@host/?key=1` becomes `https://***@host/?***`. */
function hideSecrets(text: string): string {
  const withoutUser = text.replace(/^([a-z][a-z0-9+.-]*:\/\/)?.*@/is, '$1***@');
  return withoutUser.replace(/([?#]).*$/s, '$1***');
}

/** Validates a property. The value has the type `never`, so that `isValid` may be for a string, a number or a list. */
function Rule(
  isValid: (value: never, configuration: Configuration) => boolean,
  options: ValidationOptions,
): PropertyDecorator {
  const validate = (value: never, context?: { object: object }) => isValid(value, context?.object as Configuration);
  return ValidateBy({ name: 'rule', validator: { validate } }, options);
}

/** Allows whole numbers. `convert` (read-configuration.ts) leaves "1.5" a string, and Min and Max refuse strings. */
function WholeNumber(min: number, max: number): PropertyDecorator {
  const options = needed(`a whole number from ${min} to ${max}`);
  return applyDecorators(Min(min, options), Max(max, options));
}
