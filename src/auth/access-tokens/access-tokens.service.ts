import { hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import {
  type JWTHeaderParameters,
  type JWTPayload,
  type JWTVerifyResult,
  decodeProtectedHeader,
  jwtVerify,
} from 'jose';
import { Configuration } from '../../configuration/configuration.js';
import {
  type AccessToken,
  CLOCK_SKEW_SECONDS,
  isAccessTokenType,
  isAnotherKind,
  isDate,
  hasScope,
  isInForce,
} from './access-token.js';
import { readBearer } from './bearer.js';
import { JwksService } from '../issuers/jwks.service.js';
import { ALGORITHMS, type KeySet } from '../issuers/key-set.js';
import { TokenCache } from './token-cache.js';
import { ConcurrencyLimit } from './concurrency-limit.js';
import { type Verdict, refused, undecided, valid } from '../verdict.js';

const MAX_KID_CHARACTERS = 256;
/** New tokens looked at in one turn of the event loop, signatures verified at a time, and tokens that may wait for either. */
const NEW_AT_ONCE = 2;
const MAX_WAITING = 2_000;

/** The one verifier of access tokens (RFC 7519, RFC 8725, RFC 9068). */
@Injectable()
export class AccessTokensService {
  private readonly cache = new TokenCache();
  private readonly turns = new ConcurrencyLimit(NEW_AT_ONCE, MAX_WAITING);

  constructor(
    private readonly configuration: Configuration,
    @Inject(JwksService) private readonly jwks: Pick<JwksService, 'current' | 'lookFor'>,
  ) {}

  /** @param authorization the Authorization header, or undefined where there is none */
  verify(authorization: string | undefined): Verdict<AccessToken> | Promise<Verdict<AccessToken>> {
    const token = readBearer(authorization);
    if (typeof token !== 'string') return token;
    const keys = this.jwks.current;
    if (!keys) return undecided('The signing keys of the issuer are not at hand.');
    const digest = hash('sha256', token, 'base64url');
    const known = this.cache.get(digest);
    if (!known) return this.verifyNew(token, digest);
    if (keys.holds(known.key)) return verdictOn(known);
    this.cache.remove(digest);
    return refused('unknown');
  }

  private async verifyNew(token: string, digest: string): Promise<Verdict<AccessToken>> {
    if (this.turns.isFull) return undecided('Too many new access tokens wait to be verified.');
    await this.turns.take(nextTurn); // whoever has a known token comes first
    const header = readHeader(token);
    if (!header) return refused('malformed');
    if (!isAccessTokenType(header, this.configuration.OAUTH_TOKEN_TYPE))
      return refused('not-an-access-token');
    const { kid } = header;
    if (kid !== undefined && !this.jwks.current?.kids.has(kid)) await this.jwks.lookFor();
    const keys = this.jwks.current;
    if (!keys) return undecided('The signing keys of the issuer are not at hand.');
    const key = keys.fingerprintOf(kid);
    if (key === undefined) return refused('unknown');
    const claims = await this.turns.take(() => this.verifiedClaims(token, keys));
    if (!claims) return refused('signature');
    if (isAnotherKind(claims)) return refused('not-an-access-token');
    const { exp, nbf = 0, iat = 0 } = claims;
    if (![exp, nbf, iat].every(isDate)) return refused('claims');
    const { OAUTH_REQUIRED_SCOPE: scope } = this.configuration;
    const isInScope = scope === '' || hasScope(claims, scope);
    const accessToken: AccessToken = {
      expiresAt: exp as number,
      notBefore: nbf,
      issuedAt: iat,
      isInScope,
      key,
    };
    const verdict = verdictOn(accessToken);
    if (verdict.kind === 'valid') this.cache.add(digest, accessToken);
    return verdict;
  }

  private async verifiedClaims(token: string, keys: KeySet): Promise<JWTPayload | undefined> {
    try {
      const { payload }: JWTVerifyResult = await jwtVerify(token, keys.resolve, {
        algorithms: ALGORITHMS,
        issuer: this.configuration.OAUTH_ISSUER,
        audience: this.configuration.OAUTH_AUDIENCE,
        requiredClaims: ['exp'],
        clockTolerance: CLOCK_SKEW_SECONDS,
      });
      return payload;
    } catch {
      return undefined;
    }
  }
}

const verdictOn = (token: AccessToken): Verdict<AccessToken> =>
  isInForce(token, Date.now() / 1000) ? valid(token) : refused('expired');

/**
 * The header of a signed token, if it is one that we can verify. `crit` and `b64` (RFC 7797) change what is signed, and are refused;
 * `jku`, `x5u`, `jwk` and `x5c` are never looked at: keys come from the issuer alone.
 */
function readHeader(token: string): JWTHeaderParameters | undefined {
  if (token.split('.').length !== 3) return undefined;
  try {
    const header = decodeProtectedHeader(token) as JWTHeaderParameters;
    const { alg, kid } = header;
    const readable =
      ALGORITHMS.includes(alg) && !('crit' in header) && !('b64' in header) && !('enc' in header);
    return readable &&
      (kid === undefined || (typeof kid === 'string' && kid.length <= MAX_KID_CHARACTERS))
      ? header
      : undefined;
  } catch {
    return undefined;
  }
}
