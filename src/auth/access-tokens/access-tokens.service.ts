import { Inject, Injectable } from '@nestjs/common';
import { type JWTPayload, jwtVerify } from 'jose';
import { Configuration } from '../../configuration/configuration.js';
import { Metrics } from '../../telemetry/metrics.js';
import { NO_KEYS } from '../issuers/issuer.js';
import { IssuersService } from '../issuers/issuers.service.js';
import { ALGORITHMS, type KeySet } from '../issuers/key-set.js';
import { type Verdict, refused, undecided, unverified, valid } from '../verdict.js';
import {
  type AccessToken,
  CLOCK_SKEW_SECONDS,
  type KeySource,
  hasScope,
  isInForce,
} from './access-token.js';
import { readBearer } from './bearer.js';
import { ConcurrencyLimit } from './concurrency-limit.js';
import { TokenCache } from './token-cache.js';
import { type UnverifiedToken, decodeToken, faultsOf } from './token-faults.js';

/** How many signatures are verified at the same time, and how many tokens may wait. */
const VERIFIED_AT_ONCE = 2;
const MAX_WAITING = 2_000;

/** Verifies access tokens. */
@Injectable()
export class AccessTokensService {
  private readonly cache: TokenCache;
  private readonly limit = new ConcurrencyLimit(VERIFIED_AT_ONCE, MAX_WAITING);
  /** Running verifications: a token that many requests send at the same time is verified once. */
  private readonly verifying = new Map<string, Promise<Verdict<AccessToken>>>();

  constructor(
    private readonly configuration: Configuration,
    @Inject(IssuersService)
    private readonly issuers: { get(name: unknown): KeySource | undefined },
    metrics: Metrics,
  ) {
    this.cache = new TokenCache(metrics);
  }

  /** Checks the token of a caller without a valid API key. The token is only decoded; its signature is not verified. */
  inspect(authorization: string | undefined): Verdict<AccessToken> {
    const token = readBearer(authorization);
    if (typeof token !== 'string') return token;
    // A caller whose key was revoked goes on to send its token: looking it up saves its decoding, a tenth of the CPU time of the 401
    const known = this.cache.peek(token);
    if (known && isInForce(known, Date.now() / 1000)) return unverified;
    const decoded = this.decode(token);
    return 'kind' in decoded ? decoded : unverified;
  }

  /**
   * @param authorization the Authorization header, or undefined
   * @param caller id of an API key that is in force
   */
  verify(
    authorization: string | undefined,
    caller: string,
  ): Verdict<AccessToken> | Promise<Verdict<AccessToken>> {
    const token = readBearer(authorization);
    if (typeof token !== 'string') return token;
    const known = this.cache.get(token);
    if (!known) return this.verifyNew(token, caller);
    const { keys } = known.issuer;
    if (!keys) return undecided(NO_KEYS);
    if (keys.holds(known.key)) return verdictOn(known);
    this.cache.remove(token);
    return refused('unknown-key');
  }

  private async verifyNew(token: string, caller: string): Promise<Verdict<AccessToken>> {
    const decoded = this.decode(token);
    if ('kind' in decoded) return decoded;
    const { kid } = decoded.header;
    const issuer = this.issuers.get(decoded.claims.iss);
    const isNewKey = kid !== undefined && issuer?.keys && !issuer.keys.kids.has(kid);
    if (isNewKey && !(await issuer.lookFor(kid, caller)))
      return undecided('Too many requests wait for the signing keys of the issuer.');
    const keys = issuer?.keys;
    if (!keys) return undecided(NO_KEYS);
    const key = keys.nameOf(kid);
    if (key === undefined) return refused('unknown-key');
    let verdict = this.verifying.get(token);
    if (!verdict) {
      if (this.limit.isFull) return undecided('Too many new access tokens wait to be verified.');
      verdict = this.limit
        .take(async () => {
          const { claims } = decoded;
          if (!(await this.isGenuine(token, claims.iss, keys))) return refused('signature');
          const holder = this.holderOf(claims, issuer, key);
          this.cache.add(token, holder);
          return verdictOn(holder);
        })
        .finally(() => this.verifying.delete(token));
      this.verifying.set(token, verdict);
    }
    return verdict;
  }

  private decode(token: string): UnverifiedToken | Verdict<never> {
    const decoded = decodeToken(token);
    if (!decoded) return refused('malformed');
    const fault = faultsOf(decoded, this.configuration, Date.now() / 1000).next().value;
    return fault ? refused(fault) : decoded;
  }

  private holderOf(claims: JWTPayload, issuer: KeySource, key: string): AccessToken {
    const { exp = 0, nbf = 0, iat = 0 } = claims;
    const { OAUTH_REQUIRED_SCOPE: scope } = this.configuration;
    const isInScope = scope === '' || hasScope(claims, scope);
    return { expiresAt: exp, notBefore: nbf, issuedAt: iat, isInScope, issuer, key };
  }

  private async isGenuine(token: string, issuer = '', keys: KeySet): Promise<boolean> {
    try {
      await jwtVerify(token, keys.resolve, {
        algorithms: ALGORITHMS,
        issuer,
        audience: this.configuration.OAUTH_AUDIENCE,
        requiredClaims: ['exp'],
        clockTolerance: CLOCK_SKEW_SECONDS,
      });
      return true;
    } catch {
      return false;
    }
  }
}

const verdictOn = (token: AccessToken): Verdict<AccessToken> =>
  isInForce(token, Date.now() / 1000) ? valid(token) : refused('expired');
