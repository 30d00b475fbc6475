import type { Log } from '../telemetry/log.js';
import {
  snapshotAge,
  snapshotReloads,
  snapshotRevision,
  unrecordedChanges,
} from '../telemetry/metrics.js';
import { RepeatedFailure, describe } from '../telemetry/repeated-failure.js';
import { traced } from '../telemetry/tracing.js';
import { type Identity, type Topic, haveSameStamps, isSame } from './content-identity.js';

/** Least time between the starts of two reloads, so that a storm of changes makes a few reloads a second. */
const SPACING_MS = 200;
const RETRY_MS = 500;
/** Everything is read anew once in this time, less up to a quarter, so that replicas do it at different times. */
const WHOLE_MS = 60 * 60_000;

/** What was read is not fit to be served: the former value stays. */
export class RefusedSnapshot extends Error {}

export interface Reading<T> {
  /** Of the content that was read. */
  readonly identity: Identity;
  readonly value: T;
}

/** How a topic is read. */
export interface Source<T> {
  /** Is given the value before, to build on it, unless everything has to be read anew. */
  read(former: T | undefined): Promise<Reading<T>>;
  /** Whether callers are answered the same from both. */
  isEqual(one: T, other: T): boolean | Promise<boolean>;
}

/**
 * The current value of a topic: swapped in one assignment, and read again when the identity of its content changes.
 * There is one reading at a time; changes that arrive during it cause one more. Once in a while everything is read anew, and what changed
 * without a record of it is served, logged and counted.
 */
export class FollowedSnapshot<T> {
  private readonly failure: RepeatedFailure;
  private value: T | undefined;
  private loaded: Identity | undefined;
  private wanted: Identity | undefined;
  private refused: Identity | undefined;
  private confirmedAt = 0;
  private startedAt = -SPACING_MS;
  private wholeAt = Infinity;
  private reading = false;
  private stopped = false;

  constructor(
    private readonly topic: Topic,
    private readonly source: Source<T>,
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

  /**
   * @param identity of the content that is committed now
   * @param askedAt when the database was asked for it, by performance.now()
   */
  announce(identity: Identity, askedAt = performance.now()): void {
    this.wanted = identity;
    const isDue = performance.now() >= this.wholeAt;
    if (this.isCurrent) this.confirmedAt = Math.max(this.confirmedAt, askedAt);
    if (this.isCurrent ? isDue : !this.isRefused) void this.reload();
  }

  /** For the metrics, at the time they are asked for. */
  measure(): void {
    if (this.value !== undefined) snapshotAge.set({ topic: this.topic }, this.age);
  }

  private get isCurrent(): boolean {
    return !!this.loaded && !!this.wanted && isSame(this.loaded, this.wanted);
  }

  private get isRefused(): boolean {
    return !!this.refused && !!this.wanted && isSame(this.refused, this.wanted);
  }

  private async reload(): Promise<void> {
    if (this.reading) return;
    this.reading = true;
    do {
      await pause(this.startedAt + SPACING_MS - performance.now());
      if (this.stopped) break;
      this.startedAt = performance.now();
      await this.readOnce(this.startedAt >= this.wholeAt);
    } while (!this.isCurrent && !this.isRefused);
    this.reading = false;
  }

  private async readOnce(isWhole: boolean): Promise<void> {
    const { startedAt, wanted, loaded, value: former } = this;
    try {
      const { identity, value } = await traced(`reload ${this.topic}`, {}, () =>
        this.source.read(isWhole ? undefined : former),
      );
      this.value = value;
      this.loaded = identity;
      if (this.wanted === wanted) this.wanted = identity; // else another was announced meanwhile
      if (isWhole || former === undefined)
        this.wholeAt = performance.now() + WHOLE_MS * (1 - Math.random() / 4);
      this.confirmedAt = startedAt;
      this.failure.succeeded();
      snapshotReloads.inc({ topic: this.topic, result: 'loaded' });
      snapshotRevision.set({ topic: this.topic }, Number(identity.transactions));
      const durationMs = Math.round(performance.now() - startedAt);
      this.log.info(
        { topic: this.topic, revision: identity.transactions, durationMs },
        'snapshot: loaded',
      );
      if (former !== undefined && loaded && haveSameStamps(loaded, identity))
        await this.compare(former, value);
    } catch (error) {
      const refused = error instanceof RefusedSnapshot;
      snapshotReloads.inc({ topic: this.topic, result: refused ? 'refused' : 'failed' });
      if (refused) {
        this.refused = wanted; // not what is wanted by now: the mend may have been committed meanwhile
        if (isWhole) this.wholeAt = performance.now() + WHOLE_MS;
        this.log.error(
          { topic: this.topic, revision: this.wanted?.transactions, reason: describe(error) },
          'snapshot: refused, the former one stays',
        );
      } else {
        this.failure.failed(error);
        await pause(RETRY_MS);
      }
    }
  }

  /** No transaction left a stamp since, so both should be the same. */
  private async compare(former: T, value: T): Promise<void> {
    if (await this.source.isEqual(former, value)) return;
    unrecordedChanges.inc({ topic: this.topic });
    this.log.warn(
      { topic: this.topic },
      'snapshot: something changed without a record of it, and is served now',
    );
  }
}

const pause = (milliseconds: number): Promise<void> | undefined =>
  milliseconds > 0
    ? new Promise((resolve) => void setTimeout(resolve, milliseconds).unref())
    : undefined;
