import { jest } from '@jest/globals';
import { AccessTokensService } from '../../src/auth/access-tokens.service.js';
import type { Issuer as SigningIssuer } from '../../src/auth/issuers/issuer.js';
import { IssuersService } from '../../src/auth/issuers/issuers.service.js';
import type { Verdict } from '../../src/auth/verdict.js';
import { Configuration } from '../../src/configuration/configuration.js';
import { Metrics } from '../../src/telemetry/metrics.js';
import type { LogEntry, ServiceLogger } from '../../src/telemetry/service-logger.js';
import { AUDIENCE, type Issuer } from './issuer.js';
import { limitWait } from './waiting.js';

/** Lets other work of the process go on. The fake clock does not replace setImmediate. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * The part of the service that verifies access tokens, with real issuers over HTTP. The test moves its clock, so that
 * no test waits, and the speed of the machine does not matter.
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
   * Replaces the clock. Call it before you make the first verifier, or its timers are real. After each test, call
   * `jest.useRealTimers` and `jest.restoreAllMocks`.
   */
  static replaceClock(): void {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date'] });
    // The test's clock also measures the limit of a fetch, so that no fetch ends because the machine is slow
    jest.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(new Error('the time is over')), ms);
      return controller.signal;
    });
  }

  /** The first issuer. */
  get issuer(): SigningIssuer {
    const [issuer] = this.issuers.all;
    if (!issuer) throw new Error('there is no issuer');
    return issuer;
  }

  /** Fetches the keys for the first time. */
  async start(): Promise<this> {
    await Promise.all(this.issuers.all.map((issuer) => issuer.start()));
    return this;
  }

  async verify(token: string): Promise<Verdict<unknown>> {
    return this.tokens.verify(`Bearer ${token}`);
  }

  /** Returns the status of the answer to a caller with this token and a valid API key. */
  async findStatus(token: string): Promise<number> {
    const verdict = await this.verify(token);
    if (verdict.outcome === 'accepted') return 200;
    return verdict.outcome === 'refused' ? 401 : 503;
  }

  /** Resolves when the service fetches nothing, or when an issuer keeps an answer back. */
  async waitUntilSettled(): Promise<void> {
    const isHeldBack = (): boolean => this.sources.some(({ isHoldingBack }) => isHoldingBack);
    await this.until(() => isHeldBack() || !this.issuers.all.some(({ isFetching }) => isFetching));
  }

  /** Waits for a condition that a running request makes true. */
  async until(holds: () => boolean | Promise<boolean>): Promise<void> {
    const ended = new AbortController();
    const wait = async (): Promise<void> => {
      do {
        await turn();
      } while (!ended.signal.aborted && !(await holds()));
    };
    await limitWait(holds.toString(), wait).finally(() => ended.abort());
  }

  /** Moves the clock forward by seconds. Returns the seconds in which the first issuer was asked for its keys. */
  async pass(seconds: number, eachSecond?: (second: number) => Promise<unknown>): Promise<number[]> {
    const asked: number[] = [];
    for (let second = 1; second <= seconds; second++) {
      const before = this.keySetHits;
      jest.advanceTimersByTime(1_000);
      await this.waitUntilSettled();
      await eachSecond?.(second);
      if (this.keySetHits > before) asked.push(second);
    }
    return asked;
  }

  private get keySetHits(): number {
    return this.sources[0]?.jwksHits ?? 0;
  }
}
