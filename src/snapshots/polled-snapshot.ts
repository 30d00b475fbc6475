import assert from 'node:assert';

/** A value together with what the database said of it. It is never changed, only replaced. */
export interface Content<T> {
  readonly value: T;
  /** Whoever changes the topic gives it another stamp. What is changed without one is found by reading all. */
  readonly stamp: string;
  /** When the database last named this stamp as that of its content, by the monotonic clock. */
  readonly confirmedAtMs: number;
  /** Since when this process serves it, in milliseconds since the epoch. */
  readonly servedSinceMs: number;
}

/** That the database named as that of its content, and when it was asked, by the monotonic clock. */
export interface NamedStamp {
  readonly stamp: string;
  readonly askedAtMs: number;
}

/** Why the content with this stamp cannot be served. */
export interface Refusal {
  readonly stamp: string;
  readonly reason: string;
}

export type SnapshotState<T> =
  | { readonly name: 'never-asked' }
  | { readonly name: 'unreachable' }
  | { readonly name: 'unread'; readonly named: NamedStamp }
  | { readonly name: 'restored'; readonly content: Content<T> }
  | { readonly name: 'current'; readonly content: Content<T> }
  | { readonly name: 'outdated'; readonly content: Content<T> }
  | { readonly name: 'refused'; readonly refusal: Refusal; readonly content?: Content<T> };

/**
 * The value of a topic that is served, and what is known of the database's. SnapshotFollower asks the database, and
 * tells the snapshot what came of it. It is always in one of these states:
 *
 * Nothing is served in
 *
 * - `never-asked`: the database has not been asked, or has not answered yet.
 * - `unreachable`: the database was asked, and could not be reached.
 * - `unread`: the database has named the stamp of its content, which has not been read yet.
 *
 * A value is served in
 *
 * - `restored`: the value is one that an earlier process kept. The database has not answered yet.
 * - `current`: the database has named the stamp of the value as that of its content. This is so as well while the
 *   database is away: how old its last word is says `ageSeconds`.
 * - `outdated`: the database has named another stamp. Its content has not been read yet.
 *
 * In `refused` the content of the database was read, and cannot be served. The former value is served, if there is one.
 *
 * A value is served wholly or not at all, and is given up for another one only, or when the database disowns what an
 * earlier process kept.
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
    return 'content' in this.currentState ? this.currentState.content : undefined;
  }

  /** Seconds since the database last confirmed the value; Infinity without a value. */
  get ageSeconds(): number {
    if (!this.content) return Infinity;
    return (performance.now() - this.content.confirmedAtMs) / 1000;
  }

  get servedSinceMs(): number | undefined {
    return this.content?.servedSinceMs;
  }

  /** Whether the value comes from a file, and the database has not said a word on it. */
  get isRestored(): boolean {
    return this.currentState.name === 'restored';
  }

  /** Why the content of the database is not served, or undefined. */
  get refusalReason(): string | undefined {
    return this.currentState.name === 'refused' ? this.currentState.refusal.reason : undefined;
  }

  /** Whether the database holds something that has not been read. Refused content is not read again. */
  get needsReading(): boolean {
    return this.currentState.name === 'unread' || this.currentState.name === 'outdated';
  }

  /** The database could not be reached, or gave no answer. What is served stays. */
  databaseFailed(): void {
    if (this.currentState.name === 'never-asked') this.currentState = { name: 'unreachable' };
  }

  /** The database has named the stamp of its content. */
  stampNamed(named: NamedStamp): void {
    const state = this.currentState;
    const { content } = this;
    // Content can be refused under the stamp of what is served, since not every change brings another stamp
    if (state.name === 'refused' && state.refusal.stamp === named.stamp) return;
    if (content?.stamp === named.stamp) {
      this.confirm(content, named);
      return;
    }
    // Of a kept value nobody knows what the other stamp means: a revoked key must not pass while the reading lasts
    const isDisowned = state.name === 'restored';
    if (content && !isDisowned) this.currentState = { name: 'outdated', content };
    else this.currentState = { name: 'unread', named };
  }

  /**
   * Offers a value that an earlier process kept. It is taken if nothing is served, and the database has not named
   * another stamp.
   * @returns whether it is served now
   */
  restore(content: Content<T>): boolean {
    const state = this.currentState;
    switch (state.name) {
      case 'never-asked':
      case 'unreachable':
        this.currentState = { name: 'restored', content };
        return true;
      case 'unread':
        if (state.named.stamp !== content.stamp) return false;
        this.confirm(content, state.named);
        return true;
      default:
        return false;
    }
  }

  /** The content of the database has been read. It is as old as the question for its stamp. */
  contentRead(value: T, named: NamedStamp): void {
    this.assertStampWasNamed();
    const { stamp, askedAtMs: confirmedAtMs } = named;
    const isSame = stamp === this.content?.stamp;
    const servedSinceMs = isSame ? this.content.servedSinceMs : Date.now();
    const content = { value, stamp, confirmedAtMs, servedSinceMs };
    this.currentState = { name: 'current', content };
  }

  /** The content of the database has been read, and cannot be served. */
  contentRefused(refusal: Refusal): void {
    this.assertStampWasNamed();
    const { content } = this;
    this.currentState = { name: 'refused', refusal, ...(content && { content }) };
  }

  /** What is served is what the database holds. */
  private confirm(content: Content<T>, { askedAtMs }: NamedStamp): void {
    this.currentState = { name: 'current', content: { ...content, confirmedAtMs: askedAtMs } };
  }

  /** A restored value could stay beside content that the database has never named. */
  private assertStampWasNamed(): void {
    const { name } = this.currentState;
    const isNamed = name !== 'never-asked' && name !== 'unreachable' && name !== 'restored';
    assert(isNamed, `content was read in the state ${name}, before its stamp was named`);
  }
}
