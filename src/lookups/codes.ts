import type { CodeIndex } from './code-index.js';
import { CodesSnapshot } from './codes-snapshot.js';

/** The codes of all moments, and the snapshot of one of them: that of the present, unless a moment has come since. */
export class Codes {
  private held: CodesSnapshot;

  /** @param momentMs the present, in milliseconds since the epoch */
  constructor(
    readonly index: CodeIndex,
    momentMs: number,
  ) {
    this.held = new CodesSnapshot(index, momentMs);
  }

  get snapshot(): CodesSnapshot {
    return this.held;
  }

  /** Makes the snapshot of another moment, which may be earlier: of the same rows, so the database may be away. */
  switchTo(momentMs: number): CodesSnapshot {
    this.held = new CodesSnapshot(this.index, momentMs);
    return this.held;
  }
}
