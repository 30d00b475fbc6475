import assert from 'node:assert';

/** A value together with what the database said of it. It is never changed, only replaced. */
export interface Content<T> {
  readonly value: T;
  /** Whoever changes the topic gives it another stamp. What is changed without one is found by reading everything. */
  readonly stamp: string;
  /** When the database last named this stamp as that of its content. */
  readonly confirmedAtMonotonicMs: number;
  /** Since when this process serves content with this stamp, in milliseconds since the epoch. */
  readonly servedSinceEpochMs: number;
}

/** The stamp that the database named as that of its content. */
export interface NamedStamp {
  readonly stamp: string;
  readonly askedAtMonotonicMs: number;
}

/** Content of the database that was read, and cannot be served. */
export interface UnservableContent {
  readonly stamp: string;
  /** Why it cannot be served, for operators. */
  readonly reason: string;
}

export type SnapshotState<T> =
  | { readonly name: 'never-asked' }
  | { readonly name: 'unreachable' }
  | {
      readonly name: 'unread';
    }
  | { readonly name: 'current'; readonly content: Content<T> }
  | { readonly name: 'outdated'; readonly content: Content<T> }
  | { readonly name: 'unservable'; readonly unservable: UnservableContent }
  | {
      readonly name: 'unservable-former-served';
      readonly unservable: UnservableContent;
      readonly content: Content<T>;
    };

/**
 * The value of a topic that is served, and what is known of the database's content. SnapshotFollower asks the
 * database, and calls a method for each thing that came of it. The snapshot is always in one of these states:
 *
 * | State | What is served | What it means | What ends it |
 * |---|---|---|---|
 * | never-asked | nothing | no poll had an outcome yet | a failure, a stamp |
 * | unreachable | nothing | the database did not answer | a stamp |
 * | unread | nothing | it has named a stamp; nothing was read yet | a reading |
 * | current | the content | the database named its stamp last | another stamp, an unservable reading |
 * | outdated | the former content | it named another stamp; nothing was read since | a reading, the former stamp |
 * | unservable | nothing | its content was read, and cannot be served | another stamp, a reading |
 * | unservable-former-served | the former content | the same | another stamp, a servable reading |
 *
 * While the database is away the state stays what it was: `ageSeconds` says how old its last word is. A value is
 * served wholly or not at all. It is given up for another one only.
 *
 * For the topic `keys` this means: in `outdated` a key that was revoked still passes. Reading the list takes
 * milliseconds. It takes longer only while another session holds an exclusive lock on the table (ALTER TABLE), or where
 * the reading fails, which is in the log. It ends at the latest when `ageSeconds` has reached the greatest age of the
 * topic: then every key is refused. A list of keys is never unservable.
 */
export class PolledSnapshot<T> {
  private currentState: SnapshotState<T> = { name: 'never-asked' };

  get state(): SnapshotState<T> {
    return this.currentState;
  }

  /** What is served, or undefined. Use it once for each request: it may be another one the next time. */
  get value(): T | undefined {
    return this.content?.value;
  }

  get content(): Content<T> | undefined {
    const state = this.currentState;
    switch (state.name) {
      case 'current':
      case 'outdated':
      case 'unservable-former-served':
        return state.content;
      default:
        return undefined;
    }
  }

  /** Seconds since the database last named the stamp of the value; Infinity without a value. */
  get ageSeconds(): number {
    if (!this.content) return Infinity;
    return (performance.now() - this.content.confirmedAtMonotonicMs) / 1000;
  }

  get servedSinceEpochMs(): number | undefined {
    return this.content?.servedSinceEpochMs;
  }

  /** The content of the database, if it was read and cannot be served. */
  get unservable(): UnservableContent | undefined {
    const state = this.currentState;
    switch (state.name) {
      case 'unservable':
      case 'unservable-former-served':
        return state.unservable;
      default:
        return undefined;
    }
  }

  /** Whether the database holds something that has not been read. Unservable content is not read again. */
  get needsReading(): boolean {
    return this.currentState.name === 'unread' || this.currentState.name === 'outdated';
  }

  /** The database could not be reached, or gave no answer. */
  databaseFailed(): void {
    if (this.currentState.name === 'never-asked') this.currentState = { name: 'unreachable' };
  }

  /** The database has named the stamp of its content. */
  stampNamed(named: NamedStamp): void {
    // The content that is served may have the same stamp, since not every change brings another one
    const isKnownToBeUnservable = this.unservable?.stamp === named.stamp;
    if (isKnownToBeUnservable) return;
    const former = this.content;
    if (!former) {
      this.currentState = { name: 'unread' };
      return;
    }
    const isNamed = former.stamp === named.stamp;
    this.currentState = isNamed
      ? { name: 'current', content: confirmed(former, named) }
      : { name: 'outdated', content: former };
  }

  /**
   * The content of the database has been read.
   * @param named its stamp, for which the database was asked in the same transaction: so old is the content
   */
  contentRead(value: T, named: NamedStamp): void {
    this.assertStampWasNamed();
    const isSameStamp = named.stamp === this.content?.stamp;
    const servedSinceEpochMs = isSameStamp ? this.content.servedSinceEpochMs : Date.now();
    const content: Content<T> = {
      value,
      stamp: named.stamp,
      confirmedAtMonotonicMs: named.askedAtMonotonicMs,
      servedSinceEpochMs,
    };
    this.currentState = { name: 'current', content };
  }

  /** The content of the database has been read, and cannot be served. */
  contentUnservable(unservable: UnservableContent): void {
    this.assertStampWasNamed();
    const { content } = this;
    if (!content) {
      this.currentState = { name: 'unservable', unservable };
      return;
    }
    this.currentState = { name: 'unservable-former-served', unservable, content };
  }

  private assertStampWasNamed(): void {
    const { name } = this.currentState;
    const wasNamed = name !== 'never-asked' && name !== 'unreachable';
    assert(wasNamed, `content was read in the state ${name}, before its stamp was named`);
  }
}

/** The same content, of which the database has said that it holds it. */
function confirmed<T>(content: Content<T>, { askedAtMonotonicMs }: NamedStamp): Content<T> {
  return { ...content, confirmedAtMonotonicMs: askedAtMonotonicMs };
}
