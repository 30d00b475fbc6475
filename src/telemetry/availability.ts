/** How long something may be silent at the start before it counts as away, in milliseconds. */
const SILENCE_MS = 750;

/** Tells that the database or an issuer cannot be had at the start. */
export class Availability {
  private hasAnswered = false;
  private notice: () => void = () => undefined;
  /** Resolves at the first failure, or if no answer came within SILENCE_MS. */
  readonly absence = new Promise<void>((resolve) => (this.notice = resolve));

  /** Begins to wait for an answer. */
  expect(): void {
    setTimeout(() => this.hasAnswered || this.notice(), SILENCE_MS).unref();
  }

  answered(): void {
    this.hasAnswered = true;
  }

  failed(): void {
    this.notice();
  }
}
