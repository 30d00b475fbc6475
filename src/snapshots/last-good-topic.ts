import type { DatabaseClock } from '../database/database-clock.js';
import type { DatabaseSessions } from '../database/database-sessions.js';
import { messageOf } from '../telemetry/error-message.js';
import { BackOff } from '../timers/back-off.js';
import type { LastGoodFile, LastGoodFolder } from './last-good-folder.js';
import type { Content } from './polled-snapshot.js';
import type { Topic } from './topic.js';

/** How soon a change is written, and the least time between two writes. */
const SAVE_INTERVAL_MS = 1_000;
/** After each failure the interval doubles up to this time: making the text of 100,000 codes takes a second. */
const MAX_SAVE_INTERVAL_MS = 60_000;
/** A file is also written without a change, since it says when the database last confirmed what it holds. */
const UNCHANGED_INTERVAL_MS = 60_000;

/** What the file of a topic holds. Times are by the database's clock. */
interface SavedContent {
  readonly stamp: string;
  /** When the database last confirmed it. */
  readonly confirmedAtEpochMs: number;
  /** How far the database's clock was ahead of the machine's. */
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

/** The file of a topic in LAST_GOOD_FOLDER. */
export class LastGoodTopic<T> {
  private readonly backOff = new BackOff({
    firstMs: SAVE_INTERVAL_MS,
    maxMs: MAX_SAVE_INTERVAL_MS,
  });
  private savedValue: T | undefined;
  private savedAtMonotonicMs = -Infinity;

  constructor(private readonly options: LastGoodTopicOptions<T>) {}

  /** How long to wait until content is offered again. */
  get pauseMs(): number {
    return this.backOff.pauseMs;
  }

  /** Writes the content if it is another one than that of the file, or was confirmed long after. */
  async saveIfDue(content: Content<T>): Promise<void> {
    const { topic, folder, clock } = this.options;
    const nowMonotonicMs = performance.now();
    const isSaved = content.value === this.savedValue;
    if (isSaved && nowMonotonicMs < this.savedAtMonotonicMs + this.unchangedIntervalMs) return;
    const ageMs = nowMonotonicMs - content.confirmedAtMonotonicMs;
    const document: SavedContent = {
      stamp: content.stamp,
      confirmedAtEpochMs: clock.now() - ageMs,
      clockAheadMs: clock.aheadMs,
      value: topic.toJson(content.value),
    };
    const isWritten = await folder.save(this.file, document);
    if (!isWritten) {
      this.backOff.failed();
      return;
    }
    this.backOff.succeeded();
    this.savedValue = content.value;
    this.savedAtMonotonicMs = nowMonotonicMs;
  }

  /** The content that an earlier process saved, or undefined. Sets the database's clock as that process found it. */
  async load(): Promise<Content<T> | undefined> {
    const { folder } = this.options;
    const document = await folder.load(this.file);
    if (document === undefined) return undefined;
    try {
      return this.contentOf(document);
    } catch (error) {
      folder.ignored(this.file, messageOf(error));
      return undefined;
    }
  }

  /** @throws Error if it is not what `saveIfDue` writes, or cannot be served */
  private contentOf(document: unknown): Content<T> {
    const { topic, clock } = this.options;
    assertIsSavedContent(document);
    // The clock comes afterwards: a damaged file must not set it
    const value = topic.fromJson(document.value);
    clock.assumeAhead(document.clockAheadMs);
    const ageMs = clock.now() - document.confirmedAtEpochMs;
    // What was confirmed in the future counts as too old: a clock was set back
    const confirmedAtMonotonicMs = ageMs < 0 ? -Infinity : performance.now() - ageMs;
    return {
      value,
      stamp: document.stamp,
      confirmedAtMonotonicMs,
      servedSinceEpochMs: Date.now(),
    };
  }

  /** Without a limit of age nobody asks when the database last confirmed the file. */
  private get unchangedIntervalMs(): number {
    const { maxAgeSeconds } = this.options.topic;
    if (maxAgeSeconds === Infinity) return Infinity;
    return Math.min(UNCHANGED_INTERVAL_MS, (maxAgeSeconds * 1000) / 3);
  }

  private get file(): LastGoodFile {
    const { topic, sessions } = this.options;
    return { name: topic.name, source: sessions.databaseName };
  }
}

function assertIsSavedContent(document: unknown): asserts document is SavedContent {
  const { stamp, confirmedAtEpochMs, clockAheadMs } = Object(document) as Record<string, unknown>;
  const isRight =
    typeof stamp === 'string' &&
    Number.isFinite(confirmedAtEpochMs) &&
    Number.isFinite(clockAheadMs);
  if (!isRight) throw new Error('it is damaged');
}
