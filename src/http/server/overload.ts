// Overload is measured where it hurts: a timer that comes late says how long a request waits for its turn. Beyond a bound a share of the
// requests is refused before anything is spent on them, a growing one as the wait grows, so that the rest are answered in time. The least of
// the last samples counts: one long pause, whatever made it, is no overload.
import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';

const SAMPLE_MS = 25;
/** Lateness at which the first requests are refused, and at which all are. Collecting garbage or reading codes stays below. */
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

  /** Whether one more request is taken on. */
  admits(): boolean {
    return this.share === 0 || Math.random() >= this.share;
  }
}
