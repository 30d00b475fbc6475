import type { CodeIndex } from './code-index.js';
import { CodesSnapshot } from './codes-snapshot.js';

/** The codes of all moments, and the snapshot of the last moment that was asked for. */
export class Codes {
  private held: CodesSnapshot | undefined;

  constructor(readonly index: CodeIndex) {}

  /** The snapshot that was made last; undefined before the first one. */
  get snapshot(): CodesSnapshot | undefined {
    return this.held;
  }

  /**
   * The snapshot of a moment, which may be earlier than the one before. It is made of the rows that are in memory, so
   * the database may be away.
   * @param momentMs in milliseconds since the epoch
   */
  snapshotAt(momentMs: number): CodesSnapshot {
    if (!this.held?.holdsAt(momentMs)) this.held = new CodesSnapshot(this.index, momentMs);
    return this.held;
  }
}
