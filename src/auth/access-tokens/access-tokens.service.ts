import { Injectable } from '@nestjs/common';
import type { JSONWebKeySet } from 'jose';
import { LRUCache } from 'lru-cache';
import { Configuration } from '../../configuration/configuration.js';
import { Metrics } from '../../telemetry/metrics.js';
import type { Issuer, UndecidedReason } from '../issuers/issuer.js';
import { IssuersService } from '../issuers/issuers.service.js';
import { CLOCK_SKEW_SECONDS } from '../issuers/verify-token.js';
import { type RefusalReason, type TokenVerdict, refused, undecided } from '../verdict.js';
import { readAuthorization } from './authorization.js';
import { type DecodedToken, decodeToken, faultOf, hasScope } from './token-faults.js';

/** Of the text of remembered tokens, which is ASCII. A token has 12 KiB at most. */
const MAX_REMEMBERED_BYTES = 8 * 1024 ** 2;

const EXPLANATIONS: Readonly<Record<UndecidedReason, string>> = {
  'no-signing-keys': 'No signing keys of the issuer are available.',
  'signing-keys-not-fetched': 'The signing keys of the issuer have to be fetched first.',
};
const ACCEPTED = { isAccepted: true } as const;

/** A token whose signature was verified. */
interface VerifiedToken {
  readonly issuer: Issuer;
  /** That verified it. When the issuer has another one, the token is verified again: its key may be withdrawn. */
  readonly keySet: JSONWebKeySet;
  readonly expiresAtSeconds: number;
  readonly isScopeMissing: boolean;
}

type Judgement =
  | { readonly isSound: true; readonly token: DecodedToken }
  | { readonly isSound: false; readonly reason: RefusalReason };

/** Checks access tokens. Verified ones are remembered: to verify a signature is most of the cost of a request. */
@Injectable()
export class AccessTokensService {
  private readonly remembered = new LRUCache<string, VerifiedToken>({
    maxSize: MAX_REMEMBERED_BYTES,
    sizeCalculation: (_token, text) => text.length,
  });

  constructor(
    private readonly configuration: Configuration,
    private readonly issuers: IssuersService,
    private readonly metrics: Metrics,
  ) {}

  /** For a caller without a valid API key: only what shows without the signature is judged. */
  inspect(header: string | undefined): TokenVerdict {
    const authorization = readAuthorization(header);
    if (!authorization.isToken) return refused(authorization.reason);
    const judgement = this.judge(authorization.token);
    return judgement.isSound ? ACCEPTED : refused(judgement.reason);
  }

  async verify(header: string | undefined): Promise<TokenVerdict> {
    const authorization = readAuthorization(header);
    if (!authorization.isToken) return refused(authorization.reason);
    const text = authorization.token;
    const known = this.remembered.get(text);
    if (known && known.keySet === known.issuer.keySet) return verdictOf(known);
    const judgement = this.judge(text);
    if (!judgement.isSound) return refused(judgement.reason);
    return this.verifySignature(text, judgement.token);
  }

  private judge(text: string): Judgement {
    const decoding = decodeToken(text);
    if (!decoding.isDecoded) return { isSound: false, reason: decoding.reason };
    const reason = faultOf(decoding.token, this.configuration);
    if (reason !== undefined) return { isSound: false, reason };
    return { isSound: true, token: decoding.token };
  }

  private async verifySignature(
    text: string,
    { header, claims }: DecodedToken,
  ): Promise<TokenVerdict> {
    const issuer = this.issuers.get(claims.iss);
    if (!issuer) return refused('issuer');
    this.metrics.tokensVerified.inc();
    const verdict = await issuer.verify(text, header);
    if (verdict.outcome === 'refused') return refused(verdict.reason);
    if (verdict.outcome === 'undecided')
      return undecided(verdict.reason, EXPLANATIONS[verdict.reason]);
    const { OAUTH_REQUIRED_SCOPE: scope } = this.configuration;
    const token: VerifiedToken = {
      issuer,
      keySet: verdict.keySet,
      expiresAtSeconds: claims.exp ?? 0,
      isScopeMissing: scope !== '' && !hasScope(claims, scope),
    };
    this.remembered.set(text, token);
    return verdictOf(token);
  }
}

function verdictOf({ expiresAtSeconds, isScopeMissing }: VerifiedToken): TokenVerdict {
  const nowSeconds = Date.now() / 1000;
  if (nowSeconds >= expiresAtSeconds + CLOCK_SKEW_SECONDS) return refused('expired');
  return isScopeMissing ? refused('scope') : ACCEPTED;
}
