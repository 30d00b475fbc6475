import { IsIn, IsNotEmpty, Matches } from 'class-validator';
import {
  CommaSeparated,
  DatabaseAddress,
  Each,
  HttpUrl,
  IssuerUrls,
  JwksUrl,
  OtherPortThan,
  TrueOrFalse,
  WholeNumber,
} from './rules.js';

const SAMPLERS = ['', 'parentbased_'].flatMap((base) =>
  ['always_on', 'always_off', 'traceidratio'].map((name) => base + name),
);
const port = { min: 0, max: 65_535 };

/** All environment variables that the service reads, with their defaults. `.env.example` explains each. */
export class Configuration {
  @Matches(/^[A-Za-z0-9.:_-]+$/, {
    message: '$property is "$value": a host name or an IP address to listen on is needed',
  })
  HOST = '0.0.0.0';

  @WholeNumber(port)
  PORT = 3000;

  @WholeNumber(port)
  @OtherPortThan('PORT')
  MANAGEMENT_PORT = 3001;

  @Matches(/^(\/[A-Za-z0-9._~-]+)*$/, {
    message:
      '$property is "$value": it has to begin with a slash and end without one, such as /lookups',
  })
  BASE_PATH = '';

  @HttpUrl()
  PUBLIC_BASE_URL = '';

  @DatabaseAddress('DATABASE_URL')
  DATABASE_URL = '';

  @DatabaseAddress('DATABASE_URL_FILE')
  DATABASE_URL_FILE = '';

  LAST_GOOD_FILE = '';

  @CommaSeparated()
  @IssuerUrls()
  OAUTH_ISSUER: string[] = [];

  @IsNotEmpty({
    message:
      '$property is not set: the audience that access tokens for this service hold in their aud claim is needed',
  })
  OAUTH_AUDIENCE = '';

  @JwksUrl()
  OAUTH_JWKS_URI = '';

  @Matches(/^[\x21\x23-\x5b\x5d-\x7e]*$/, {
    message:
      '$property is "$value": one scope without spaces, quotes and backslashes is needed (RFC 6749 section 3.3)',
  })
  OAUTH_REQUIRED_SCOPE = '';

  @IsIn(['', 'at+jwt'], {
    message:
      '$property is "$value": only at+jwt can be demanded (RFC 9068); leave it out to accept JWT too',
  })
  OAUTH_TOKEN_TYPE = '';

  @TrueOrFalse()
  OAUTH_ALLOW_HTTP = false;

  @WholeNumber({ min: 10, max: 86_400 })
  API_KEY_MAX_AGE_SECONDS = 900;

  @WholeNumber({ min: 0, max: 1_000_000 })
  RATE_LIMIT_PER_MINUTE = 0;

  @CommaSeparated()
  @Each(
    /^https?:\/\/[\w.~:[\]-]+$/,
    'an origin such as https://portal.example.com (scheme and host, no path)',
  )
  CORS_ORIGINS: string[] = [];

  @WholeNumber({ min: 0, max: 100 })
  TRUSTED_PROXY_HOPS = 0;

  @IsIn(['on', 'off'], { message: '$property is "$value": on or off is needed' })
  DOCUMENTATION = 'on';

  @Matches(/^(https?:\/\/[^\s@?#]+)?$/, {
    message:
      '$property is not an http or https address without user and query, such as http://collector:4318',
  })
  OTEL_EXPORTER_OTLP_ENDPOINT = '';

  /** A secret for the collector. The exporter reads it itself. */
  OTEL_EXPORTER_OTLP_HEADERS = '';

  @IsIn(['http/protobuf'], {
    message:
      '$property is "$value": only http/protobuf is supported; collectors accept it at port 4318',
  })
  OTEL_EXPORTER_OTLP_PROTOCOL = 'http/protobuf';

  @TrueOrFalse()
  OTEL_SDK_DISABLED = false;

  OTEL_SERVICE_NAME = 'order-lookup-services';

  OTEL_RESOURCE_ATTRIBUTES = '';

  @IsIn(SAMPLERS, { message: `$property is "$value": one of ${SAMPLERS.join(', ')} is needed` })
  OTEL_TRACES_SAMPLER = 'parentbased_always_on';

  @Matches(/^(0(\.\d+)?|1(\.0+)?)?$/, {
    message: '$property is "$value": the share of requests to trace is needed, from 0 to 1',
  })
  OTEL_TRACES_SAMPLER_ARG = '';

  @WholeNumber({ min: 1, max: 1_000_000 })
  OTEL_BSP_MAX_QUEUE_SIZE = 8_192;

  @WholeNumber({ min: 1, max: 10_000 })
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE = 512;

  @WholeNumber({ min: 1, max: 3_600_000 })
  OTEL_BSP_SCHEDULE_DELAY = 5_000;

  @IsIn(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
    message:
      '$property is "$value": one of fatal, error, warn, info, debug, trace, silent is needed',
  })
  LOG_LEVEL = 'info';

  /** The address to which paths that begin with BASE_PATH are appended, without a trailing slash; empty if it is not known. */
  get serverAddress(): string {
    const { PUBLIC_BASE_URL: url, BASE_PATH: path } = this;
    return path !== '' && url !== '' && new URL(url).pathname.endsWith(path)
      ? url.slice(0, -path.length)
      : url;
  }

  /** The {base_url} of the interface document, as far as it is known: at least BASE_PATH. */
  get baseAddress(): string {
    return this.serverAddress + this.BASE_PATH;
  }
}
