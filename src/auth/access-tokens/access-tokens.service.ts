import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Configuration } from '../../configuration/configuration.js';
import { Metrics } from '../../telemetry/metrics.js';
import type { Issuer, UndecidedReason } from '../issuers/issuer.js';
import { IssuersService } from '../issuers/issuers.service.js';
import type { KeySet } from '../issuers/key-set.js';
import { CLOCK_SKEW_SECONDS } from '../issuers/verify-token.js';
import { type NotAccepted, type RefusalReason, type Verdict, accepted, refused, undecided } from '../verdict.js';
import { readAuthorization } from './authorization.js';
import { hasScope } from './scopes.js';
import { type DecodedToken, decodeToken, visibleFaultOf } from './token-faults.js';

/** The limit counts the text of remembered tokens, which is ASCII. A token has 12 KiB at most. */
const MAX_REMEMBERED_BYTES = 8 * 1024 ** 2;

const EXPLANATIONS: Readonly<Record<UndecidedReason, string>> = {
  'no-signing-keys': 'No signing keys of the issuer are available.',
  'signing-keys-not-fetched': 'The signing keys of the issuer have to be fetched first.',
};

/** A token whose signature was verified. */
interface VerifiedToken {
  readonly issuer: Issuer;
  /** When the issuer has another key set, the token is verified again: its key may be withdrawn. */
  readonly verifiedWith: KeySet;
  readonly expiresAtSeconds: number;
  readonly isScopeMissing: boolean;
}

type Inspection =
  | { readonly isSound: true; readonly token: DecodedToken }
  | { readonly isSound: false; readonly reason: RefusalReason };

/**
 * Checks access tokens. Verified tokens are remembered, since to verify a signature is most of the cost of a request.
 */
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

  /**
   * The fault that shows without checking the signature, for a caller without a valid API key. Without such a fault the
   * token may still be forged.
   */
  visibleFault(header: string | undefined): NotAccepted | undefined {
    const authorization = readAuthorization(header);
    if (!authorization.hasToken) return refused(authorization.reason);
    const inspection = this.inspect(authorization.token);
    return inspection.isSound ? undefined : refused(inspection.reason);
  }

  async verify(header: string | undefined): Promise<Verdict<VerifiedToken>> {
    const authorization = readAuthorization(header);
    if (!authorization.hasToken) return refused(authorization.reason);
    const text = authorization.token;
    const known = this.remembered.get(text);
    if (known && known.verifiedWith === known.issuer.signingKeys.keySet) return judge(known);
    const inspection = this.inspect(text);
    if (!inspection.isSound) return refused(inspection.reason);
    return this.verifySignature(text, inspection.token);
  }

  private inspect(text: string): Inspection {
    const decoding = decodeToken(text);
    if (!decoding.isDecoded) return { isSound: false, reason: decoding.reason };
    const reason = visibleFaultOf(decoding.token, this.configuration);
    if (reason !== undefined) return { isSound: false, reason };
    return { isSound: true, token: decoding.token };
  }

  private async verifySignature(text: string, { header, claims }: DecodedToken): Promise<Verdict<VerifiedToken>> {
    const issuer = this.issuers.get(claims.iss);
    if (!issuer) return refused('issuer');
    this.metrics.tokensVerified.inc();
    const verdict = await issuer.verify(text, header);
    if (verdict.outcome === 'refused') return refused(verdict.reason);
    if (verdict.outcome === 'undecided') return undecided(verdict.reason, EXPLANATIONS[verdict.reason]);
    const { OAUTH_REQUIRED_SCOPE: scope } = this.configuration;
    const token: VerifiedToken = {
      issuer,
      verifiedWith: verdict.keySet,
      expiresAtSeconds: claims.exp ?? 0,
      isScopeMissing: scope !== '' && !hasScope(claims, scope),
    };
    this.remembered.set(copyOf(text), token);
    return judge(token);
  }
}

function judge(token: VerifiedToken): Verdict<VerifiedToken> {
  const nowSeconds = Date.now() / 1000;
  if (nowSeconds >= token.expiresAtSeconds + CLOCK_SKEW_SECONDS) return refused('expired');
  return token.isScopeMissing ? refused('scope') : accepted(token);
}

/** V8 keeps the whole header, which may be mostly blanks, as long as a text that was cut out of it. A copy is alone. */
function copyOf(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}
