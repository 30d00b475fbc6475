import { jest } from '@jest/globals';
import { AccessTokensService } from '../../src/auth/access-tokens.service.js';
import type { Issuer as SigningIssuer } from '../../src/auth/issuers/issuer.js';
import { IssuersService } from '../../src/auth/issuers/issuers.service.js';
import type { Verdict } from '../../src/auth/verdict.js';
import { Configuration } from '../../src/configuration/configuration.js';
import { Metrics } from '../../src/telemetry/metrics.js';
import type { LogEntry, ServiceLogger } from '../../src/telemetry/service-logger.js';
import { AUDIENCE, type Issuer } from './issuer.js';
import { sayIfLate } from './waiting.js';

/** Lets the process go on. The clock of a test does not turn it. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * The part of the service that verifies access tokens, with real issuers over HTTP. Its clock is turned by the test:
 * nobody waits, and the machine may be as slow as it likes.
 */
export class Verifier {
  readonly metrics = new Metrics();
  /** Lines of the log with the level info. */
  readonly infos: LogEntry[] = [];
  /** Lines of the log with the level warn or error. */
  readonly warnings: LogEntry[] = [];
  readonly issuers: IssuersService;
  readonly tokens: AccessTokensService;
  private readonly logger = {
    debug: () => undefined,
    log: (entry: LogEntry) => this.infos.push(entry),
    warn: (entry: LogEntry) => this.warnings.push(entry),
    error: (entry: LogEntry) => this.warnings.push(entry),
  } as unknown as ServiceLogger;

  constructor(
    private readonly sources: readonly Issuer[],
    variables: Partial<Configuration> = {},
  ) {
    const OAUTH_ISSUER = sources.map(({ url }) => url);
    const given = { OAUTH_ISSUER, OAUTH_AUDIENCE: [AUDIENCE], ...variables };
    const configuration = Object.assign(new Configuration(), given);
    this.issuers = new IssuersService(configuration, this.logger, this.metrics);
    this.tokens = new AccessTokensService(configuration, this.issuers, this.metrics);
  }

  /**
   * Call it before the first verifier is made, whose timers would be the machine's, and undo it after each test with
   * `jest.restoreAllMocks()` and `jest.useRealTimers()`.
   */
  static turnClock(): void {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date'] });
    // The limit of a fetch is by the test's clock, so that no fetch ends because the machine is slow.
    jest.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(new Error('the time is over')), ms);
      return controller.signal;
    });
  }

  /** The first of its issuers. */
  get issuer(): SigningIssuer {
    const [issuer] = this.issuers.all;
    if (!issuer) throw new Error('there is no issuer');
    return issuer;
  }

  /** Has the keys fetched for the first time. */
  async start(): Promise<this> {
    await Promise.all(this.issuers.all.map((issuer) => issuer.start()));
    return this;
  }

  async verify(token: string): Promise<Verdict<unknown>> {
    return this.tokens.verify(`Bearer ${token}`);
  }

  /** The status of the answer to a caller with this token and a valid key. */
  async findStatus(token: string): Promise<number> {
    const verdict = await this.verify(token);
    if (verdict.outcome === 'accepted') return 200;
    return verdict.outcome === 'refused' ? 401 : 503;
  }

  /** Waits until the service waits for the clock alone, or for an answer that an issuer holds back. */
  async settled(): Promise<void> {
    const isHeldBack = (): boolean => this.sources.some(({ isHoldingBack }) => isHoldingBack);
    await this.until(() => isHeldBack() || !this.issuers.all.some(({ isAsked }) => isAsked));
  }

  /** Waits for something that a request under way does. */
  until(holds: () => boolean | Promise<boolean>): Promise<void> {
    return sayIfLate(holds.toString(), async () => {
      do {
        await turn();
      } while (!(await holds()));
    });
  }

  /** Lets seconds pass. Returns those in which the first issuer was asked for its keys. */
  async pass(seconds: number, eachSecond?: (second: number) => Promise<unknown>): Promise<number[]> {
    const asked: number[] = [];
    for (let second = 1; second <= seconds; second++) {
      const before = this.keySetHits;
      jest.advanceTimersByTime(1_000);
      await this.settled();
      await eachSecond?.(second);
      if (this.keySetHits > before) asked.push(second);
    }
    return asked;
  }

  private get keySetHits(): number {
    return this.sources[0]?.jwksHits ?? 0;
  }
}
