// Codes begin and end at moments, by the database's clock. The snapshots that follow are prepared shortly before their moments, in pieces, so
// that at a moment only one reference changes. Each access looks at the clock, so no answer is of the wrong side of a moment, however late a
// timer fires. While nothing is prepared, an access does not look at the clock.
import type { DatabaseClock } from '../database/database-clock.js';
import type { CodesChanges, CodesSnapshot } from './codes-snapshot.js';
import { inPieces } from './in-pieces.js';

/** How long before its moment a snapshot is prepared, in milliseconds. Preparing takes much less. */
const AHEAD_MS = 10_000;
/** How many snapshots are prepared at the same time. They share most of their memory. */
const MOST_PREPARED = 8;

/** The clock is behind the database by the time that an answer took, so the snapshot of a reading may seem to be ahead. */
const SLACK_MS = 1_000;

/** The codes of one reading, now and at every later moment. */
export class CodesTimeline {
  private preparing: Promise<void> | undefined;

  /**
   * @param prepared the snapshots that follow, each from the end of the one before
   * @param switched is called at each moment
   */
  constructor(
    private inForce: CodesSnapshot,
    private readonly clock: Pick<DatabaseClock, 'now'>,
    private readonly switched: (moment: number) => void,
    private readonly prepared: CodesSnapshot[] = [],
  ) {}

  /** The snapshot in force. */
  get current(): CodesSnapshot {
    if (this.prepared.length > 0) this.switch();
    return this.inForce;
  }

  /** Whether the clock was set back to before the snapshot in force, which knows nothing of that time. */
  get isAhead(): boolean {
    return this.clock.now() < this.inForce.since - SLACK_MS;
  }

  /** Milliseconds until something has to be done. */
  get idleFor(): number {
    const { until } = this.current;
    return until - this.clock.now() - (this.prepared.length > 0 ? 0 : AHEAD_MS);
  }

  /** Prepares the next snapshots, and handles moments that have passed before they could be prepared. */
  prepare(): Promise<void> {
    return (this.preparing ??= this.prepareAll().finally(() => (this.preparing = undefined)));
  }

  /** The timeline after changes. Prepared snapshots are kept, unless moments were moved. */
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
