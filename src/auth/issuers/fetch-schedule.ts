/** Less than a minute, so that a withdrawn key is refused within a minute although the fetch itself takes time. */
const REFRESH_INTERVAL_MS = 55_000;
/** The least time from the end of a fetch to the next one, whatever causes them. */
const PAUSE_MS = 5_000;
/** How long a request waits for a fetch. So its answer takes less than a second, however slow the issuer is. */
const MAX_WAIT_MS = 800;

interface FetchScheduleOptions {
  /** Fetches the keys once, and gives whether it succeeded. It never throws. */
  readonly fetchKeys: () => Promise<boolean>;
  /** Whether there are keys that can be used while the issuer does not answer. */
  readonly hasKeys: () => boolean;
}

/**
 * Decides when the keys of an issuer are fetched: by a timer, so that no request with a known key waits for the issuer,
 * and for a token that may be signed with a key that the issuer has just published. There is one fetch at a time, and
 * none within five seconds after another.
 */
export class FetchSchedule {
  private runningFetch: Promise<boolean> | undefined;
  private fetchEndedAtMs = -Infinity;
  private failuresInRow = 0;
  private timer: NodeJS.Timeout | undefined;
  private isStopped = false;

  constructor(private readonly options: FetchScheduleOptions) {}

  /** Fetches the keys now, and from then on again and again until `stop`. */
  async start(): Promise<void> {
    await this.refresh();
  }

  /** No fetch begins from now on. One that is running comes to its end. */
  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
  }

  /**
   * Fetches the keys for a token, if a fetch is allowed now.
   * @returns whether the keys are newer than the call: only then a key that is still unknown does not exist
   */
  async fetchForToken(): Promise<boolean> {
    const isJoining = this.runningFetch !== undefined;
    if (!isJoining && this.isPausing) return false;
    const isFetched = await within(MAX_WAIT_MS, this.fetch());
    return isFetched === true && !isJoining;
  }

  private async refresh(): Promise<void> {
    if (this.isStopped) return;
    await this.fetch();
    if (!this.isStopped) this.planRefresh();
  }

  /** The next refresh is due an interval after the last fetch, whatever caused that one. */
  private planRefresh(): void {
    const dueAtMs = this.fetchEndedAtMs + this.intervalMs;
    this.timer = setTimeout(() => this.refreshIfDue(), Math.ceil(dueAtMs - performance.now()));
    this.timer.unref();
  }

  /** It may not be due: a timer may fire a fraction early, and a token may have caused a fetch meanwhile. */
  private refreshIfDue(): void {
    const isDue = performance.now() >= this.fetchEndedAtMs + this.intervalMs;
    if (isDue) void this.refresh();
    else this.planRefresh();
  }

  private get isPausing(): boolean {
    return performance.now() < this.fetchEndedAtMs + PAUSE_MS;
  }

  /** After each failure the interval doubles, up to the usual one. Without keys it stays short. */
  private get intervalMs(): number {
    if (this.failuresInRow === 0) return REFRESH_INTERVAL_MS;
    if (!this.options.hasKeys()) return PAUSE_MS;
    return Math.min(PAUSE_MS * 2 ** (this.failuresInRow - 1), REFRESH_INTERVAL_MS);
  }

  /** Joins the fetch that is running, or begins one. */
  private fetch(): Promise<boolean> {
    if (!this.runningFetch) this.runningFetch = this.fetchOnce();
    return this.runningFetch;
  }

  private async fetchOnce(): Promise<boolean> {
    const isFetched = await this.options.fetchKeys();
    this.failuresInRow = isFetched ? 0 : this.failuresInRow + 1;
    this.fetchEndedAtMs = performance.now();
    this.runningFetch = undefined;
    return isFetched;
  }
}

/** The result of the work, or undefined if it takes longer. */
async function within<T>(milliseconds: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), milliseconds);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
