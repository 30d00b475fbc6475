import { Injectable } from '@nestjs/common';
import { Configuration } from '../../configuration/configuration.js';
import { Metrics } from '../../telemetry/metrics.js';
import { type Fault, type TokenVerdict, rejected } from '../fault.js';
import type { Issuer } from '../issuers/issuer.js';
import { IssuersService } from '../issuers/issuers.service.js';
import type { KeySet } from '../issuers/key-set.js';
import { CLOCK_SKEW_SECONDS, decodeToken, faultOf, hasScope } from './token-faults.js';

const MAX_REMEMBERED_BYTES = 8 * 1024 ** 2;

/** A token whose signature was verified. Times are seconds since the epoch. */
interface AccessToken {
  readonly expiresAt: number;
  readonly scopeFault: Fault | undefined;
  readonly issuer: Issuer;
  /** The keys that verified it. If the issuer publishes others, it is verified again. */
  readonly keys: KeySet;
}

/** Checks access tokens. It remembers those that were verified, by their text: this saves 75 % of the CPU time of a request. */
@Injectable()
export class AccessTokensService {
  /** The later half of the remembered tokens, and the earlier half, which is forgotten as a whole. */
  private recent = new Map<string, AccessToken>();
  private earlier = this.recent;
  private recentBytes = 0;

  constructor(
    private readonly configuration: Configuration,
    private readonly issuers: IssuersService,
    private readonly metrics: Metrics,
  ) {}

  /** For a caller without a valid API key: the fault that can be seen without the signature. */
  inspect(authorization: string | undefined): TokenVerdict {
    const text = textOf(authorization);
    if (typeof text !== 'string') return rejected(text);
    // A caller whose key was revoked goes on to send a good token. To decode it takes 25 % of the CPU time of the 401
    const known = this.find(text);
    if (known && isInForce(known)) return { isAccepted: true };
    const decoded = this.decode(text);
    return 'reason' in decoded ? rejected(decoded) : { isAccepted: true };
  }

  verify(authorization: string | undefined): TokenVerdict | Promise<TokenVerdict> {
    const text = textOf(authorization);
    if (typeof text !== 'string') return rejected(text);
    const known = this.find(text);
    const isCurrent = known !== undefined && known.issuer.keys === known.keys;
    return isCurrent ? verdictNow(known) : this.verifyNew(text);
  }

  private async verifyNew(text: string): Promise<TokenVerdict> {
    const decoded = this.decode(text);
    if ('reason' in decoded) return rejected(decoded);
    const { header, claims } = decoded;
    const issuer = this.issuers.get(claims.iss);
    if (!issuer) return rejected({ reason: 'issuer' });
    this.metrics.tokensVerified.inc();
    const keys = await issuer.verify(text, header.kid);
    if ('reason' in keys) return rejected(keys);
    const { OAUTH_REQUIRED_SCOPE: scope } = this.configuration;
    const scopeFault = scope === '' || hasScope(claims, scope) ? undefined : { reason: 'scope' };
    const token = { expiresAt: claims.exp ?? 0, scopeFault, issuer, keys };
    this.remember(text, token);
    return verdictNow(token);
  }

  private decode(text: string) {
    const decoded = decodeToken(text);
    if ('reason' in decoded) return decoded;
    const reason = faultOf(decoded, this.configuration);
    return reason === undefined ? decoded : { reason };
  }

  private find(text: string): AccessToken | undefined {
    return this.recent.get(text) ?? this.earlier.get(text);
  }

  private remember(text: string, token: AccessToken): void {
    this.recentBytes += text.length;
    if (this.recentBytes > MAX_REMEMBERED_BYTES / 2) {
      this.earlier = this.recent;
      [this.recent, this.recentBytes] = [new Map(), text.length];
    }
    this.recent.set(text, token);
  }
}

/** The token after `Bearer`, or the bare token, since the interface document says "Sent as <ACCESS_TOKEN>". */
function textOf(authorization = ''): string | Fault {
  // What most callers send. The expressions below take 1.5 % of the CPU time of a 200
  if (authorization.startsWith('Bearer ') && authorization[7] !== ' ')
    return authorization.slice(7);
  if (authorization === '' || /^bearer$/i.test(authorization)) return { reason: 'missing' };
  const end = authorization.indexOf(' ');
  if (end > 0 && !/^bearer /i.test(authorization)) return { reason: 'scheme' };
  return authorization.slice(end + 1).replace(/^ +/, '');
}

function verdictNow(token: AccessToken): TokenVerdict {
  if (!isInForce(token)) return rejected({ reason: 'expired' });
  return token.scopeFault ? rejected(token.scopeFault) : { isAccepted: true };
}

const isInForce = ({ expiresAt }: AccessToken): boolean =>
  Date.now() / 1000 < expiresAt + CLOCK_SKEW_SECONDS;
