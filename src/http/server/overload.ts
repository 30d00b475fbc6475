// Overload is measured by the lateness of a timer, which is the time that a request waits in the event loop. Above a bound a share of the
// requests is refused before any work is done for them. The share grows with the lateness, so that the others are answered in time. The
// smallest of the last samples is used: a single long pause is not an overload. Without requests there is no timer, which would cost an idle
// process half a percent of a core.
const SAMPLE_MS = 25;
/** Lateness at which the first requests are refused, and at which all are. Garbage collection and reading codes stay below. */
const SHED_FROM_MS = 150;
const SHED_ALL_MS = 900;

export class Overload {
  private timer: NodeJS.Timeout | undefined;
  private expected = 0;
  private share = 0;
  private wasAsked = false;
  private readonly recent = [0, 0, 0];

  /** Whether the next request is admitted. */
  admits(): boolean {
    this.wasAsked = true;
    if (!this.timer) this.start();
    return this.share === 0 || Math.random() >= this.share;
  }

  private start(): void {
    this.expected = performance.now() + SAMPLE_MS;
    this.timer = setInterval(() => this.sample(), SAMPLE_MS).unref();
  }

  private sample(): void {
    const now = performance.now();
    this.recent.shift();
    this.recent.push(now - this.expected);
    this.expected = now + SAMPLE_MS;
    const wait = Math.min(...this.recent);
    this.share = Math.max(0, Math.min(1, (wait - SHED_FROM_MS) / (SHED_ALL_MS - SHED_FROM_MS)));
    if (!this.wasAsked && this.share === 0) {
      clearInterval(this.timer);
      this.timer = undefined;
    }
    this.wasAsked = false;
  }
}
