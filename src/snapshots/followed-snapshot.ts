import type { Log } from '../telemetry/log.js';
import { snapshotAge, snapshotReloads, snapshotRevision } from '../telemetry/metrics.js';
import { RepeatedFailure, describe } from '../telemetry/repeated-failure.js';
import { traced } from '../telemetry/tracing.js';
import type { Topic } from './read-revision.js';

/** Least time between the starts of two reloads, so that a storm of changes makes a few reloads a second. */
const SPACING_MS = 200;
const RETRY_MS = 500;

/** What was read is not fit to be served: the former value stays. */
export class RefusedSnapshot extends Error {}

export interface Reading<T> {
  readonly revision: string;
  readonly value: T;
}

/**
 * The current value of a topic: read whole, swapped in one assignment, and read again when its revision changes.
 * There is one reading at a time; changes that arrive during it cause one more.
 */
export class FollowedSnapshot<T> {
  private readonly failure: RepeatedFailure;
  private value: T | undefined;
  private loaded: string | undefined;
  private invalidations = 0;
  private wanted: string | undefined;
  private refused: string | undefined;
  private confirmedAt = 0;
  private startedAt = -SPACING_MS;
  private reading = false;
  private stopped = false;

  constructor(
    private readonly topic: Topic,
    /** Is given the value before, to build on it, unless everything has to be read anew. */
    private readonly read: (former: T | undefined) => Promise<Reading<T>>,
    private readonly log: Log,
  ) {
    this.failure = new RepeatedFailure(log, `reading the ${topic}`);
  }

  /** Take it once for each request: the next call may give another. */
  get current(): T | undefined {
    return this.value;
  }

  /** Seconds since the database last confirmed that the value is the committed one. */
  get age(): number {
    return this.value === undefined ? Infinity : (performance.now() - this.confirmedAt) / 1000;
  }

  /** Reads no more. */
  stop(): void {
    this.stopped = true;
  }

  /** What was read counts no more: everything has to be read anew. The value stays until then. */
  invalidate(): void {
    this.invalidations++;
    this.loaded = undefined;
    this.refused = undefined;
  }

  announce(revision: string): void {
    this.wanted = revision;
    if (this.isCurrent) this.confirmedAt = performance.now();
    else if (!this.reading && !this.stopped && revision !== this.refused) void this.reload();
  }

  private get isCurrent(): boolean {
    return this.loaded !== undefined && this.loaded === this.wanted;
  }

  private async reload(): Promise<void> {
    this.reading = true;
    do {
      await pause(this.startedAt + SPACING_MS - performance.now());
      this.startedAt = performance.now();
      await this.readOnce();
    } while (!this.isCurrent && this.wanted !== this.refused && !this.stopped);
    this.reading = false;
  }

  private async readOnce(): Promise<void> {
    const startedAt = performance.now();
    const asked = this.wanted;
    const { invalidations } = this;
    try {
      const former = this.loaded === undefined ? undefined : this.value;
      const { revision, value } = await traced(`reload ${this.topic}`, {}, () => this.read(former));
      this.value = value;
      this.loaded = this.invalidations === invalidations ? revision : undefined;
      if (this.wanted === asked) this.wanted = revision; // else something was announced meanwhile
      this.confirmedAt = startedAt;
      this.failure.succeeded();
      snapshotReloads.inc({ topic: this.topic, result: 'loaded' });
      snapshotRevision.set({ topic: this.topic }, Number(revision.split(' ')[0]));
      this.log.info(
        { topic: this.topic, revision, durationMs: Math.round(performance.now() - startedAt) },
        'snapshot: loaded',
      );
    } catch (error) {
      const refused = error instanceof RefusedSnapshot;
      snapshotReloads.inc({ topic: this.topic, result: refused ? 'refused' : 'failed' });
      if (refused) {
        this.refused = asked; // not what is wanted by now: the mend may have been committed meanwhile
        this.log.error(
          { topic: this.topic, revision: this.wanted, reason: describe(error) },
          'snapshot: refused, the former one stays',
        );
      } else {
        this.failure.failed(error);
        await pause(RETRY_MS);
      }
    }
  }

  /** For the metrics, at the time they are asked for. */
  measure(): void {
    if (this.value !== undefined) snapshotAge.set({ topic: this.topic }, this.age);
  }
}

const pause = (milliseconds: number): Promise<void> | undefined =>
  milliseconds > 0
    ? new Promise((resolve) => void setTimeout(resolve, milliseconds).unref())
    : undefined;
