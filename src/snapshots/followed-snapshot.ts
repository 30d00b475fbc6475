import type { Log } from '../telemetry/log.js';
import type { Metrics } from '../telemetry/metrics.js';
import { RepeatedFailure, describe } from '../telemetry/repeated-failure.js';
import type { Tracing } from '../telemetry/tracing.js';
import { type Identity, type Topic, haveSameStamps, isSame } from './content-identity.js';
import { RefusedSnapshot } from './refused-snapshot.js';

/** Least time between the starts of two reloads, so that many changes cause only a few reloads a second. */
const SPACING_MS = 200;
const RETRY_MS = 500;
/** Everything is read once in this time, less a random part of up to a quarter, so that replicas do it at different times. */
const WHOLE_MS = 60 * 60_000;

export interface Reading<T> {
  /** The identity of the content that was read. */
  readonly identity: Identity;
  readonly value: T;
}

/** How a topic is read. */
export interface Source<T> {
  /** Gets the former value to build on, or undefined if everything must be read. */
  read(former: T | undefined): Promise<Reading<T>>;
  /** Whether everything must be read again although nothing was committed. */
  isStale?(value: T): boolean;
  /** Whether callers get the same answers from both. */
  isEqual(one: T, other: T): boolean | Promise<boolean>;
}

/**
 * The current value of a topic. It is read again when the identity of the content changes, and replaced in one assignment. There is one
 * reading at a time; changes that arrive during it cause one more. Once an hour everything is read; a change without a record is served,
 * logged and counted.
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
    private readonly metrics: Metrics,
    private readonly tracing: Tracing,
    /** Called when a reading failed, or was refused. */
    private readonly failed: () => void = () => undefined,
  ) {
    this.failure = new RepeatedFailure(log, `reading the ${topic}`);
  }

  /** Use it once for each request: the next call may return another value. */
  get current(): T | undefined {
    return this.value;
  }

  /** Seconds since the database last confirmed that the value is the committed one. */
  get age(): number {
    return this.value === undefined ? Infinity : (performance.now() - this.confirmedAt) / 1000;
  }

  /** Whether the value is one that was given to `restore`. */
  get isRestored(): boolean {
    return this.value !== undefined && this.loaded === undefined;
  }

  /**
   * Serves a value of an earlier process until the first reading; nothing happens after that.
   * @param age seconds since the database confirmed it
   */
  restore(value: T, age: number): void {
    if (this.value !== undefined) return;
    this.value = value;
    this.confirmedAt = performance.now() - age * 1000;
  }

  /** Stops reading. */
  stop(): void {
    this.stopped = true;
  }

  /**
   * @param identity of the content that is committed now
   * @param askedAt when the database was asked for it, by performance.now()
   */
  announce(identity: Identity, askedAt = performance.now()): void {
    this.wanted = identity;
    const isDue = performance.now() >= this.wholeAt || this.isStale;
    if (this.isCurrent) this.confirmedAt = Math.max(this.confirmedAt, askedAt);
    if (this.isCurrent ? isDue : !this.isRefused) void this.reload();
  }

  /** Sets the metrics. Called at each scrape. */
  measure(): void {
    if (this.value !== undefined) this.metrics.snapshotAge.set({ topic: this.topic }, this.age);
  }

  private get isCurrent(): boolean {
    return !!this.loaded && !!this.wanted && isSame(this.loaded, this.wanted);
  }

  private get isStale(): boolean {
    return this.value !== undefined && this.source.isStale?.(this.value) === true;
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
    const { startedAt, wanted, loaded, isStale } = this;
    const former = loaded && this.value;
    try {
      const { identity, value } = await this.tracing.traced(`reload ${this.topic}`, {}, () =>
        this.source.read(isWhole || isStale ? undefined : former),
      );
      this.value = value;
      this.loaded = identity;
      if (this.wanted === wanted) this.wanted = identity; // otherwise another identity was announced in the meantime
      if (isWhole || former === undefined)
        this.wholeAt = performance.now() + WHOLE_MS * (1 - Math.random() / 4);
      this.confirmedAt = startedAt;
      this.failure.succeeded();
      this.metrics.snapshotReloads.inc({ topic: this.topic, result: 'loaded' });
      this.metrics.snapshotRevision.set({ topic: this.topic }, Number(identity.transactions));
      const durationMs = Math.round(performance.now() - startedAt);
      this.log.info(
        { topic: this.topic, revision: identity.transactions, durationMs },
        'snapshot: loaded',
      );
      if (former !== undefined && !isStale && loaded && haveSameStamps(loaded, identity))
        await this.compare(former, value);
    } catch (error) {
      this.failed();
      const refused = error instanceof RefusedSnapshot;
      this.metrics.snapshotReloads.inc({
        topic: this.topic,
        result: refused ? 'refused' : 'failed',
      });
      if (refused) {
        this.refused = wanted; // not this.wanted: a correction may have been announced in the meantime
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

  /** No transaction has left a stamp since, so both values should be equal. */
  private async compare(former: T, value: T): Promise<void> {
    if (await this.source.isEqual(former, value)) return;
    this.metrics.unrecordedChanges.inc({ topic: this.topic });
    this.log.warn(
      { topic: this.topic },
      'snapshot: a change without a record was found, and is served now',
    );
  }
}

const pause = (milliseconds: number): Promise<void> | undefined =>
  milliseconds > 0
    ? new Promise((resolve) => void setTimeout(resolve, milliseconds).unref())
    : undefined;
