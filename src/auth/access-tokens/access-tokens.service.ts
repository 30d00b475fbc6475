import { Injectable } from '@nestjs/common';
import { Configuration } from '../../configuration/configuration.js';
import { Metrics } from '../../telemetry/metrics.js';
import type { Fault } from '../fault.js';
import type { Issuer } from '../issuers/issuer.js';
import { IssuersService, NO_KEYS } from '../issuers/issuers.service.js';
import { type KeySet, isSigned } from '../issuers/key-set.js';
import { CLOCK_SKEW_SECONDS, decodeToken, faultOf, hasScope } from './token-faults.js';

/** Longest token that is accepted, in bytes. */
const MAX_TOKEN_BYTES = 8 * 1024;
/** How many tokens are remembered; each takes about 250 bytes and its text. */
const MOST_REMEMBERED = 5_000;

const NOT_FETCHED = 'The signing keys of the issuer have to be fetched first.';

/** A token whose signature was verified. Times are seconds since the epoch. */
interface AccessToken {
  readonly expiresAt: number;
  readonly isInScope: boolean;
  readonly issuer: Issuer;
  /** The keys that verified it. If the issuer publishes others, it is verified again. */
  readonly keys: KeySet;
}

/** Checks access tokens. It remembers those that were verified, by their text: this saves 75 % of the CPU time of a request. */
@Injectable()
export class AccessTokensService {
  private readonly remembered = new Map<string, AccessToken>();

  constructor(
    private readonly configuration: Configuration,
    private readonly issuers: IssuersService,
    private readonly metrics: Metrics,
  ) {}

  /** The fault that can be seen without the signature, for a caller without a valid API key. */
  inspect(authorization: string | undefined): Fault | undefined {
    const text = textOf(authorization);
    if (typeof text !== 'string') return text;
    // A caller whose key was revoked goes on to send a good token. To decode it takes 25 % of the CPU time of the 401
    const known = this.remembered.get(text);
    if (known && isInForce(known)) return undefined;
    const decoded = this.decode(text);
    return 'reason' in decoded ? decoded : undefined;
  }

  /** The fault of the token of a caller with a valid API key: at once, if it was verified before. */
  verify(authorization: string | undefined): Fault | undefined | Promise<Fault | undefined> {
    const text = textOf(authorization);
    if (typeof text !== 'string') return text;
    const known = this.remembered.get(text);
    const isCurrent = known !== undefined && known.issuer.keys === known.keys;
    return isCurrent ? faultNow(known) : this.verifyNew(text);
  }

  private async verifyNew(text: string): Promise<Fault | undefined> {
    const decoded = this.decode(text);
    if ('reason' in decoded) return decoded;
    const { header, claims } = decoded;
    const issuer = this.issuers.get(claims.iss);
    const isKnown = issuer?.keys && (await issuer.has(header.kid));
    const keys = issuer?.keys;
    if (!issuer || !keys) return { reason: 'no-signing-keys', undecided: NO_KEYS };
    if (isKnown === undefined)
      return { reason: 'signing-keys-not-fetched', undecided: NOT_FETCHED };
    if (!isKnown) return { reason: 'unknown-key' };
    this.metrics.tokensVerified.inc();
    if (!(await isSigned(text, keys))) return { reason: 'signature' };
    const { OAUTH_REQUIRED_SCOPE: scope } = this.configuration;
    const isInScope = scope === '' || hasScope(claims, scope);
    const token = { expiresAt: claims.exp ?? 0, isInScope, issuer, keys };
    this.remembered.set(text, token);
    if (this.remembered.size > MOST_REMEMBERED)
      this.remembered.delete(this.remembered.keys().next().value as string);
    return faultNow(token);
  }

  private decode(text: string) {
    const decoded = decodeToken(text);
    if (!decoded) return { reason: 'malformed' };
    const reason = faultOf(decoded, this.configuration);
    return reason === undefined ? decoded : { reason };
  }
}

/** The token of an Authorization header: `Bearer <token>`, or the bare token, since the interface document says "Sent as <ACCESS_TOKEN>". */
function textOf(authorization = ''): string | Fault {
  if (authorization === '' || /^bearer$/i.test(authorization)) return { reason: 'missing' };
  const [prefix = '', scheme = 'bearer'] = /^([^ ]+) +/.exec(authorization) ?? [];
  if (scheme.toLowerCase() !== 'bearer') return { reason: 'scheme' };
  const text = authorization.slice(prefix.length);
  return text.length <= MAX_TOKEN_BYTES ? text : { reason: 'malformed' };
}

function faultNow(token: AccessToken): Fault | undefined {
  if (!isInForce(token)) return { reason: 'expired' };
  return token.isInScope ? undefined : { reason: 'scope' };
}

const isInForce = ({ expiresAt }: AccessToken): boolean =>
  Date.now() / 1000 < expiresAt + CLOCK_SKEW_SECONDS;
