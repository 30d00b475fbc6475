interface BackOffOptions {
  /** The pause while nothing fails. */
  readonly usualMs: number;
  readonly maxMs: number;
}

/** The pause before something is tried again: it doubles with each failure in a row. */
export class BackOff {
  private failuresInARow = 0;

  constructor(private readonly options: BackOffOptions) {}

  get pauseMs(): number {
    const { usualMs, maxMs } = this.options;
    return Math.min(maxMs, usualMs * 2 ** this.failuresInARow);
  }

  failed(): void {
    this.failuresInARow += 1;
  }

  succeeded(): void {
    this.failuresInARow = 0;
  }
}
