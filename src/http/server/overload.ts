// Overload is measured by the lateness of a timer, which is the time that a request waits in the event loop. Above a bound a share of the
// requests is refused before any work is done for them. The share grows with the lateness, so that the others are answered in time. The
// smallest of the last samples is used: a single long pause is not an overload.
import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';

const SAMPLE_MS = 25;
/** Lateness at which the first requests are refused, and at which all are. Garbage collection and reading codes stay below. */
const SHED_FROM_MS = 150;
const SHED_ALL_MS = 900;

export class Overload implements OnApplicationBootstrap, OnApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  private expected = 0;
  private share = 0;
  private readonly recent = [0, 0, 0];

  onApplicationBootstrap(): void {
    this.expected = performance.now() + SAMPLE_MS;
    this.timer = setInterval(() => {
      const now = performance.now();
      const late = now - this.expected;
      this.expected = now + SAMPLE_MS;
      this.recent.shift();
      this.recent.push(late);
      const wait = Math.min(...this.recent);
      this.share = Math.max(0, Math.min(1, (wait - SHED_FROM_MS) / (SHED_ALL_MS - SHED_FROM_MS)));
    }, SAMPLE_MS).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  /** Whether the next request is admitted. */
  admits(): boolean {
    return this.share === 0 || Math.random() >= this.share;
  }
}
