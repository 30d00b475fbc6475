// Codes begin and end at moments, by the database's clock. What is in force from the next moments on is prepared shortly before them, in pieces,
// so that at a moment one reference changes. Whoever asks looks at the clock: nobody is answered of before after a moment, or of after before
// it, however late a timer comes. Where nothing is prepared, not even that is done.
import type { CodesChanges, CodesSnapshot } from './codes-snapshot.js';
import { inPieces } from './in-pieces.js';

/** How long before its moment a snapshot is prepared, in milliseconds: much more than preparing takes. */
const AHEAD_MS = 10_000;
/** Snapshots prepared at a time. They share most of their memory. */
const MOST_PREPARED = 8;

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
}

/** The codes as they were read, now and at every later moment. */
export class CodesTimeline {
  private preparing: Promise<void> | undefined;

  /**
   * @param prepared what is in force from the moment on at which the one before is over
   * @param switched is told each moment as it comes
   */
  constructor(
    private inForce: CodesSnapshot,
    private readonly clock: Clock,
    private readonly switched: (moment: number) => void,
    private readonly prepared: CodesSnapshot[] = [],
  ) {}

  /** What is in force now. */
  get current(): CodesSnapshot {
    if (this.prepared.length > 0) this.switch();
    return this.inForce;
  }

  /** Milliseconds until there is something to do. */
  get idleFor(): number {
    const { until } = this.current;
    return until - this.clock.now() - (this.prepared.length > 0 ? 0 : AHEAD_MS);
  }

  /** Prepares what is in force soon, and catches up with moments that came before they could be prepared. */
  prepare(): Promise<void> {
    return (this.preparing ??= this.prepareAll().finally(() => (this.preparing = undefined)));
  }

  /** The timeline after changes. What was prepared stays so, unless moments were moved. */
  async with(changes: CodesChanges): Promise<CodesTimeline> {
    const { current } = this;
    const prepared = [...this.prepared];
    const first = await inPieces(current.with(changes));
    let last = first;
    const rest: CodesSnapshot[] = [];
    for (const snapshot of prepared) {
      if (snapshot.since !== last.until) break;
      rest.push((last = await inPieces(snapshot.with(changes))));
    }
    return new CodesTimeline(first, this.clock, this.switched, rest);
  }

  private async prepareAll(): Promise<void> {
    for (;;) {
      const { current } = this;
      const last = this.prepared.at(-1) ?? current;
      const now = this.clock.now();
      if (last.until > now + AHEAD_MS || this.prepared.length >= MOST_PREPARED) return;
      const next = await inPieces(last.at(Math.max(last.until, now)));
      if (last.until <= now) this.inForce = next;
      else this.prepared.push(next);
    }
  }

  private switch(): void {
    const now = this.clock.now();
    for (let next; (next = this.prepared[0]) && next.since <= now; this.prepared.shift()) {
      const moment = this.inForce.until;
      this.inForce = next;
      this.switched(moment);
    }
  }
}
