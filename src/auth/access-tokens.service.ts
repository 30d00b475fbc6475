import { Injectable } from '@nestjs/common';
import {
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  type ProtectedHeaderParameters,
  errors,
  jwtVerify,
} from 'jose';
import { LRUCache } from 'lru-cache';
import { Configuration } from '../configuration/configuration.js';
import { Metrics } from '../telemetry/metrics.js';
import {
  type ReadToken,
  hasExpiry,
  hasScope,
  isAccessTokenType,
  isOfAnotherKind,
  isOfClient,
  readToken,
} from './access-token.js';
import { ALGORITHMS, type Issuer, type SigningKeys } from './issuers/issuer.js';
import { IssuersService } from './issuers/issuers.service.js';
import { type RefusalReason, type Verdict, accepted, refused, undecided } from './verdict.js';

/** Tolerated difference between clocks (RFC 7519 section 4.1.4). */
const CLOCK_SKEW_SECONDS = 30;
/** The limit counts the text of remembered tokens, which is ASCII. */
const MAX_REMEMBERED_BYTES = 8 * 1024 ** 2;
/** The reason by the claim that jose refuses, or the header parameter `typ`. */
const REASONS_BY_CLAIM: Readonly<Partial<Record<string, RefusalReason>>> = {
  iss: 'issuer',
  aud: 'audience',
  exp: 'no-expiry',
  nbf: 'not-before',
  typ: 'type',
};
/** The reason by the code of jose's error. Every other one says that no key verifies the signature, or can be used. */
const REASONS_BY_CODE: Readonly<Partial<Record<string, RefusalReason>>> = {
  ERR_JWS_INVALID: 'malformed',
  ERR_JWT_INVALID: 'malformed',
  ERR_JOSE_ALG_NOT_ALLOWED: 'algorithm',
  ERR_JWKS_NO_MATCHING_KEY: 'unknown-key',
  ERR_JWT_EXPIRED: 'expired',
};

/** The claims of a token whose signature was verified. */
export interface VerifiedClaims extends JWTPayload {
  readonly exp: number;
}

/** A token that was verified. */
interface RememberedToken {
  readonly issuer: Issuer;
  /** When the issuer has other keys, the token is verified again: its key may be withdrawn. */
  readonly verifiedWith: SigningKeys;
  readonly expiresAtSeconds: number;
  readonly isScopeMissing: boolean;
}

/**
 * Checks access tokens. Verified tokens are remembered, since to verify a signature is most of the cost of a request.
 */
@Injectable()
export class AccessTokensService {
  private readonly remembered = new LRUCache<string, RememberedToken>({
    maxSize: MAX_REMEMBERED_BYTES,
    sizeCalculation: (_token, text) => text.length,
  });

  constructor(
    private readonly configuration: Configuration,
    private readonly issuers: IssuersService,
    private readonly metrics: Metrics,
  ) {}

  /** @param authorization the header, or undefined if it was not sent */
  async verify(authorization: string | undefined): Promise<Verdict<RememberedToken>> {
    const found = findToken(authorization);
    if (found.outcome !== 'accepted') return found;
    const text = found.value;
    const known = this.remembered.get(text);
    if (known && known.verifiedWith === known.issuer.keys) return judge(known);
    const read = readToken(text);
    if (read.outcome !== 'accepted') return read;
    const issuer = this.issuers.get(read.value.claims.iss);
    return issuer ? this.verifyWithRefresh(read.value, issuer) : refused('issuer');
  }

  /** Only a token whose key id its issuer has not published waits for a fetch. */
  private async verifyWithRefresh(token: ReadToken, issuer: Issuer): Promise<Verdict<RememberedToken>> {
    const { keys } = issuer;
    if (!keys) return undecided('no-signing-keys', 'No signing keys of the issuer are available.');
    this.metrics.tokensVerified.inc();
    const verdict = await this.verifyAndRemember(keys, token, issuer);
    const isOfUnknownKey = verdict.outcome === 'refused' && verdict.reason === 'unknown-key';
    if (!isOfUnknownKey || typeof token.header.kid !== 'string') return verdict;
    const newKeys = await issuer.findNewKeys();
    if (!newKeys) {
      return undecided('signing-keys-not-fetched', 'The signing keys of the issuer could not be fetched.');
    }
    return newKeys === keys ? verdict : this.verifyAndRemember(newKeys, token, issuer);
  }

  /** What was verified is remembered, also where the scope is missing: the next request with the token costs less. */
  private async verifyAndRemember(
    keys: SigningKeys,
    token: ReadToken,
    issuer: Issuer,
  ): Promise<Verdict<RememberedToken>> {
    const verdict = await verifyToken(token, keys, issuer.name, this.configuration);
    if (verdict.outcome !== 'accepted') return verdict;
    const { OAUTH_REQUIRED_SCOPE: scope } = this.configuration;
    const remembered: RememberedToken = {
      issuer,
      verifiedWith: keys,
      expiresAtSeconds: verdict.value.exp,
      isScopeMissing: scope !== '' && !hasScope(verdict.value, scope),
    };
    this.remembered.set(copyText(token.text), remembered);
    return judge(remembered);
  }
}

/**
 * Finds the token in the header Authorization: `Bearer` and the token (RFC 6750 section 2.1, the scheme in any case),
 * or the bare token, since the interface document says "Sent as <ACCESS_TOKEN>".
 * @param header as Node.js gives it, without blanks and tabs at both ends; undefined if it was not sent
 */
export function findToken(header = ''): Verdict<string> {
  const blankIndex = header.indexOf(' ');
  if (blankIndex === -1) return header === '' || isBearer(header) ? refused('missing') : accepted(header);
  if (!isBearer(header.slice(0, blankIndex))) return refused('scheme');
  return accepted(header.slice(blankIndex).replace(/^ +/, '')); // RFC 9110 section 11.4 allows several blanks
}

/**
 * Verifies an access token: jose its signature and claims, this service its kind and its client.
 * @param issuer the exact `iss`
 */
export async function verifyToken(
  { text, header }: ReadToken,
  keys: SigningKeys,
  issuer: string,
  configuration: Configuration,
): Promise<Verdict<VerifiedClaims>> {
  const { OAUTH_AUDIENCE: audiences, OAUTH_TOKEN_TYPE: type } = configuration;
  try {
    const { payload } = await verifyWithAnyKey(text, keys.find, {
      algorithms: [...ALGORITHMS],
      issuer,
      audience: audiences.length > 0 ? [...audiences] : undefined,
      typ: type === '' ? undefined : type,
      requiredClaims: ['exp'],
      clockTolerance: CLOCK_SKEW_SECONDS,
    });
    return judgeClaims(header, payload, configuration);
  } catch (error) {
    const reason = findReason(error);
    // jose also finds no key where the id is known and another member does not fit: a fetch would not help
    const isKeyKnown = keys.document.keys.some(({ kid }) => kid === header.kid);
    return refused(reason === 'unknown-key' && isKeyKnown ? 'signature' : reason);
  }
}

/** What jose does not look at: whether it is an access token at all, and of which client. */
function judgeClaims(
  header: ProtectedHeaderParameters,
  claims: JWTPayload,
  { OAUTH_CLIENTS: clients }: Configuration,
): Verdict<VerifiedClaims> {
  if (!isAccessTokenType(header)) return refused('type');
  if (clients.length > 0 && !isOfClient(claims, clients)) return refused('client');
  if (isOfAnotherKind(claims)) return refused('another-kind');
  return hasExpiry(claims) ? accepted(claims) : refused('no-expiry');
}

/** Where several keys fit the header, as for a token without a key id, jose throws an error that gives them. */
async function verifyWithAnyKey(
  text: string,
  findKey: JWTVerifyGetKey,
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> {
  try {
    return await jwtVerify(text, findKey, options);
  } catch (error) {
    if (error instanceof errors.JWKSMultipleMatchingKeys) return tryEachKey(text, error, options);
    throw error;
  }
}

async function tryEachKey(
  text: string,
  keys: errors.JWKSMultipleMatchingKeys,
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> {
  for await (const key of keys) {
    try {
      return await jwtVerify(text, key, options);
    } catch (error) {
      if (isFaultOfClaims(error)) throw error; // so this key has verified the signature
    }
  }
  throw new errors.JWSSignatureVerificationFailed();
}

function findReason(error: unknown): RefusalReason {
  const code = error instanceof errors.JOSEError ? error.code : '';
  const reason = REASONS_BY_CODE[code];
  if (reason) return reason;
  return isFaultOfClaims(error) ? (REASONS_BY_CLAIM[error.claim] ?? 'claims') : 'signature';
}

/** jose looks at the claims after the signature. */
function isFaultOfClaims(error: unknown): error is errors.JWTClaimValidationFailed | errors.JWTExpired {
  return error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired;
}

function judge(token: RememberedToken): Verdict<RememberedToken> {
  const nowSeconds = Date.now() / 1000;
  if (nowSeconds >= token.expiresAtSeconds + CLOCK_SKEW_SECONDS) return refused('expired');
  return token.isScopeMissing ? refused('scope') : accepted(token);
}

function isBearer(scheme: string): boolean {
  return scheme.toLowerCase() === 'bearer';
}

/** A text that was cut out keeps the whole header, which may be mostly blanks, in V8's memory. A copy does not. */
function copyText(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}
