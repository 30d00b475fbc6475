import { Injectable } from '@nestjs/common';
import {
  type CryptoKey,
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
  type UnverifiedToken,
  expiresBeforeYear10000,
  findClient,
  hasAcceptedType,
  hasScope,
  isOfAnotherKind,
  readToken,
} from './access-token.js';
import type { Issuer } from './issuers/issuer.js';
import { IssuersService } from './issuers/issuers.service.js';
import { ALGORITHMS, type SigningKeys } from './issuers/signing-keys.js';
import { type RefusalReason, type Verdict, accepted, refused, undecided } from './verdict.js';

/** The tolerated difference between the issuer's clock and ours (RFC 7519 section 4.1.4). */
export const CLOCK_SKEW_SECONDS = 30;
const MAX_REMEMBERED_TOKENS_BYTES = 8 * 1024 ** 2;
/** The reasons for claims that jose refuses. `typ` is in the header, but jose reports it as a claim. */
const REASONS_BY_CLAIM: Readonly<Partial<Record<string, RefusalReason>>> = {
  iss: 'issuer',
  aud: 'audience',
  exp: 'no-expiry', // it is missing, or is no number. For an expired token jose throws ERR_JWT_EXPIRED
  nbf: 'not-before',
  typ: 'type',
};
const REASONS_BY_CODE: Readonly<Partial<Record<string, RefusalReason>>> = {
  ERR_JWS_INVALID: 'malformed',
  ERR_JWT_INVALID: 'malformed',
  ERR_JOSE_ALG_NOT_ALLOWED: 'algorithm',
  ERR_JWKS_NO_MATCHING_KEY: 'unknown-key',
  ERR_JWT_EXPIRED: 'expired',
};

export interface VerifiedClaims extends JWTPayload {
  readonly exp: number;
}

interface RememberedToken {
  readonly issuer: Issuer;
  /** If the issuer has other keys now, the token is verified again: its key may be withdrawn. */
  readonly verifiedWith: SigningKeys;
  readonly client: string | undefined;
  readonly expiresAtSeconds: number;
  readonly isScopeMissing: boolean;
}

/** Checks access tokens. Verified tokens are remembered, because a signature check is most of a request's cost. */
@Injectable()
export class AccessTokensService {
  private readonly remembered = new LRUCache<string, RememberedToken>({
    maxSize: MAX_REMEMBERED_TOKENS_BYTES,
    sizeCalculation: (_token, text) => text.length,
  });

  constructor(
    private readonly configuration: Configuration,
    private readonly issuers: IssuersService,
    private readonly metrics: Metrics,
  ) {}

  async verify(authorization: string | undefined): Promise<Verdict<RememberedToken>> {
    const found = findToken(authorization);
    if (found.outcome !== 'accepted') return found;
    const text = found.value;
    const known = this.remembered.get(text);
    if (known && known.verifiedWith === known.issuer.keys) return checkTimeAndScope(known);
    const read = readToken(text);
    if (read.outcome !== 'accepted') return read;
    const token = read.value;
    const issuer = this.issuers.get(token.claims.iss);
    return issuer ? this.verifyWithRefresh(token, issuer) : refused('issuer');
  }

  /** Verifies a token. If no key of the issuer has the token's key id, waits until the keys are fetched again. */
  private async verifyWithRefresh(token: UnverifiedToken, issuer: Issuer): Promise<Verdict<RememberedToken>> {
    const { keys } = issuer;
    if (!keys) return undecided('no-signing-keys', 'No signing keys of the issuer are available.');
    this.metrics.tokensVerified.inc();
    const verdict = await this.verifyAndRemember(keys, token, issuer);
    const isKeyUnknown = verdict.outcome === 'refused' && verdict.reason === 'unknown-key';
    if (!isKeyUnknown || typeof token.header.kid !== 'string') return verdict;
    const presentKeys = await issuer.findNewKeys(token.header.kid);
    if (!presentKeys) {
      return undecided('signing-keys-not-fetched', 'The signing keys of the issuer could not be fetched.');
    }
    return presentKeys === keys ? verdict : this.verifyAndRemember(presentKeys, token, issuer);
  }

  /** Verifies a token. Remembers a valid token, even if it lacks the required scope. */
  private async verifyAndRemember(
    keys: SigningKeys,
    token: UnverifiedToken,
    issuer: Issuer,
  ): Promise<Verdict<RememberedToken>> {
    const verdict = await verifyToken(token, keys, issuer.name, this.configuration);
    if (verdict.outcome !== 'accepted') return verdict;
    const { OAUTH_REQUIRED_SCOPE: scope } = this.configuration;
    const remembered: RememberedToken = {
      issuer,
      verifiedWith: keys,
      client: findClient(verdict.value),
      expiresAtSeconds: verdict.value.exp,
      isScopeMissing: scope !== '' && !hasScope(verdict.value, scope),
    };
    this.remembered.set(copyText(token.text), remembered);
    return checkTimeAndScope(remembered);
  }
}

/** @param header the value of Authorization, without spaces at both ends; undefined if it was not sent */
export function findToken(header = ''): Verdict<string> {
  if (header.includes(',')) return refused('repeated'); // joinDuplicateHeaders joins repeated headers by commas
  const spaceIndex = header.indexOf(' ');
  // Some callers send no scheme, as the interface document says: "Sent as <ACCESS_TOKEN>"
  if (spaceIndex === -1) return header === '' || isBearer(header) ? refused('missing') : accepted(header);
  if (!isBearer(header.slice(0, spaceIndex))) return refused('scheme'); // RFC 6750 section 2.1
  return accepted(header.slice(spaceIndex).replace(/^ +/, '')); // RFC 9110 section 11.4 allows several spaces
}

/** @param issuer the exact `iss` that the token must have */
export async function verifyToken(
  { text, header }: UnverifiedToken,
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
    return checkKindAndClient(header, payload, configuration);
  } catch (error) {
    const reason = findReason(error);
    if (isFaultOfClaims(error)) return refused(reason, { tokenClient: findClient(error.payload) });
    if (reason !== 'unknown-key') return refused(reason);
    // `unknown-key` causes a fetch. If a key with this id exists, but for another algorithm, a fetch would not help
    const isKeyIdKnown = keys.document.keys.some(({ kid }) => kid === header.kid);
    return refused(isKeyIdKnown ? 'signature' : 'unknown-key');
  }
}

/**
 * Checks the header's `typ`, the kind of token that the claims show, and the client. If the client were checked first,
 * the log would show the reason `client` for an ID token that names no client.
 */
function checkKindAndClient(
  header: ProtectedHeaderParameters,
  claims: JWTPayload,
  { OAUTH_CLIENTS: clients }: Configuration,
): Verdict<VerifiedClaims> {
  const tokenClient = findClient(claims);
  if (!hasAcceptedType(header)) return refused('type', { tokenClient });
  if (isOfAnotherKind(header, claims)) return refused('another-kind', { tokenClient });
  const isClientAdmitted = clients.length === 0 || (tokenClient !== undefined && clients.includes(tokenClient));
  if (!isClientAdmitted) return refused('client', { tokenClient });
  return expiresBeforeYear10000(claims) ? accepted(claims) : refused('no-expiry', { tokenClient });
}

/** Verifies a token. If several keys fit, jose throws an error through which one can loop over these keys. */
async function verifyWithAnyKey(
  text: string,
  findKey: JWTVerifyGetKey,
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> {
  try {
    return await jwtVerify(text, findKey, options);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    const fittingKeys: AsyncIterable<CryptoKey> = error;
    return tryEachKey(text, fittingKeys, options);
  }
}

async function tryEachKey(
  text: string,
  keys: AsyncIterable<CryptoKey>,
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> {
  for await (const key of keys) {
    try {
      return await jwtVerify(text, key, options);
    } catch (error) {
      if (isFaultOfClaims(error)) throw error; // this key has verified the signature
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

/** Returns whether a claim is wrong. If so, the signature is right, because jose checks signatures before claims. */
function isFaultOfClaims(error: unknown): error is errors.JWTClaimValidationFailed | errors.JWTExpired {
  return error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired;
}

function checkTimeAndScope(token: RememberedToken): Verdict<RememberedToken> {
  const nowSeconds = Date.now() / 1000;
  const tokenClient = token.client;
  if (nowSeconds >= token.expiresAtSeconds + CLOCK_SKEW_SECONDS) return refused('expired', { tokenClient });
  return token.isScopeMissing ? refused('scope', { tokenClient }) : accepted(token);
}

function isBearer(scheme: string): boolean {
  return scheme.toLowerCase() === 'bearer';
}

/** Copies a text. The token is a slice of its header, so without a copy V8 would keep the whole header in memory. */
function copyText(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}
