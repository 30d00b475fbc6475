import os from 'node:os';
import type { DatabaseClock } from '../database/database-clock.js';
import type { DatabaseSessions } from '../database/database-sessions.js';
import { messageOf } from '../telemetry/error-message.js';
import { BackOff } from '../timers/back-off.js';
import { assertNumber, assertObject, assertText } from './json-form.js';
import type { LastGoodFile, LastGoodFolder } from './last-good-folder.js';
import type { Content } from './polled-snapshot.js';
import type { Topic } from './topic.js';

/** Content is offered this often: changes that follow each other are written once, since each write takes the whole. */
const SAVE_INTERVAL_MS = 1_000;
/** After each failure the interval doubles up to this time: a try makes the whole text, 17 MB for 100,000 codes. */
const MAX_SAVE_INTERVAL_MS = 60_000;
/** Content that has not changed is also written, since a file says when the database last confirmed its content. */
const CONFIRMATION_INTERVAL_MS = 60_000;
/**
 * How many confirmations are written within the greatest age of a topic, at least. With one only, a file could be too
 * old at a start although the database had answered until just before.
 */
const CONFIRMATIONS_IN_MAX_AGE = 3;

/** What the file of a topic holds. Times are by the database's clock. */
interface SavedContent {
  readonly stamp: string;
  /** When the database last confirmed it. */
  readonly confirmedAtEpochMs: number;
  /** The machine that wrote it. */
  readonly hostName: string;
  /** How far the database's clock was ahead of that machine's. */
  readonly clockAheadMs: number;
  readonly value: unknown;
}

interface LastGoodTopicOptions<T> {
  readonly topic: Topic<T>;
  readonly folder: LastGoodFolder;
  /** Names the database. */
  readonly sessions: Pick<DatabaseSessions, 'databaseName'>;
  readonly clock: DatabaseClock;
}

/**
 * The file of a topic in LAST_GOOD_FOLDER. Several replicas may share the folder. The file that counts is the one with
 * the latest word of the database, so a replica that has lost the database leaves the files of the others alone.
 */
export class LastGoodTopic<T> {
  private readonly backOff = new BackOff({
    usualMs: SAVE_INTERVAL_MS,
    maxMs: MAX_SAVE_INTERVAL_MS,
  });
  /** What the file is known to hold. */
  private saved: Content<T> | undefined;

  constructor(private readonly options: LastGoodTopicOptions<T>) {}

  /** How long to wait until content is offered again. */
  get pauseMs(): number {
    return this.backOff.pauseMs;
  }

  /** Writes the content if it is another one than that of the file, or was confirmed long after. Never throws. */
  async saveIfDue(content: Content<T>): Promise<void> {
    if (!this.isDue(content)) return;
    const isSaved = await this.tryToSave(content);
    if (!isSaved) {
      this.backOff.failed();
      return;
    }
    this.backOff.succeeded();
    this.saved = content;
  }

  /**
   * The content that an earlier process saved, or undefined. The database's clock is assumed as that process found it,
   * if it was on this machine: on another one its clock says nothing of ours.
   */
  async load(): Promise<Content<T> | undefined> {
    const { folder } = this.options;
    const json = await folder.load(this.file);
    if (json === undefined) return undefined;
    try {
      return this.contentOf(savedContentOf(json));
    } catch (error) {
      folder.ignored(this.file, messageOf(error));
      return undefined;
    }
  }

  private isDue({ value, stamp, confirmedAtMonotonicMs }: Content<T>): boolean {
    const { saved } = this;
    if (saved?.value !== value || saved.stamp !== stamp) return true;
    return confirmedAtMonotonicMs >= saved.confirmedAtMonotonicMs + this.confirmationIntervalMs;
  }

  /** Whether the file holds the content now. */
  private async tryToSave(content: Content<T>): Promise<boolean> {
    const { folder } = this.options;
    try {
      const later = await this.findLaterThan(content);
      if (later) return later.stamp === content.stamp;
      return await folder.save(this.file, this.documentOf(content));
    } catch (error) {
      folder.saveFailed(this.file, error);
      return false;
    }
  }

  /** What another replica wrote, of which the database has said later that it holds it. */
  private async findLaterThan(content: Content<T>): Promise<SavedContent | undefined> {
    const { folder, clock } = this.options;
    let found: SavedContent;
    try {
      found = savedContentOf(await folder.read(this.file));
    } catch {
      return undefined; // there is no file, or one that nobody can use
    }
    // A file of the future would never be replaced: the database's clock was set back
    const isOfThePast = found.confirmedAtEpochMs <= clock.now();
    const isLater = found.confirmedAtEpochMs > this.confirmedAtEpochMs(content);
    return isOfThePast && isLater ? found : undefined;
  }

  private documentOf(content: Content<T>): SavedContent {
    const { topic, clock } = this.options;
    return {
      stamp: content.stamp,
      confirmedAtEpochMs: this.confirmedAtEpochMs(content),
      hostName: os.hostname(),
      clockAheadMs: clock.aheadMs,
      value: topic.toJson(content.value),
    };
  }

  private confirmedAtEpochMs({ confirmedAtMonotonicMs }: Content<T>): number {
    const ageMs = performance.now() - confirmedAtMonotonicMs;
    return this.options.clock.now() - ageMs;
  }

  /** @throws Error if the value cannot be served */
  private contentOf(saved: SavedContent): Content<T> {
    const { topic, clock } = this.options;
    const value = topic.fromJson(saved.value); // first, since a damaged file must not set the clock
    const { confirmedAtEpochMs, clockAheadMs } = saved;
    if (saved.hostName === os.hostname()) {
      clock.assume({ aheadMs: clockAheadMs, foundAtEpochMs: confirmedAtEpochMs });
    }
    const ageMs = clock.now() - confirmedAtEpochMs;
    // What was confirmed in the future counts as too old: a clock was set back
    const confirmedAtMonotonicMs = ageMs < 0 ? -Infinity : performance.now() - ageMs;
    return { value, stamp: saved.stamp, confirmedAtMonotonicMs, servedSinceEpochMs: Date.now() };
  }

  /** Infinite without a greatest age: then nobody asks when the database last confirmed the file. */
  private get confirmationIntervalMs(): number {
    const { maxAgeSeconds } = this.options.topic;
    if (maxAgeSeconds === Infinity) return Infinity;
    const shareOfMaxAgeMs = (maxAgeSeconds * 1000) / CONFIRMATIONS_IN_MAX_AGE;
    return Math.min(CONFIRMATION_INTERVAL_MS, shareOfMaxAgeMs);
  }

  private get file(): LastGoodFile {
    const { topic, sessions } = this.options;
    return { name: topic.name, source: sessions.databaseName };
  }
}

/** @throws Error if it is not what `saveIfDue` writes */
function savedContentOf(json: unknown): SavedContent {
  const content = assertObject(json, 'content');
  return {
    stamp: assertText(content['stamp'], 'stamp'),
    confirmedAtEpochMs: assertNumber(content['confirmedAtEpochMs'], 'confirmedAtEpochMs'),
    hostName: assertText(content['hostName'], 'hostName'),
    clockAheadMs: assertNumber(content['clockAheadMs'], 'clockAheadMs'),
    value: content['value'],
  };
}
