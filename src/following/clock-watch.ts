import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Metrics } from '../telemetry/metrics.js';
import { ServiceLogger } from '../telemetry/service-logger.js';
import { DatabaseClock } from './database-clock.js';

/** If the clocks differ by this time, the log warns. If they differ by CLOCK_SKEW_SECONDS, tokens may be refused. */
export const NOTICEABLE_OFFSET_MS = 10_000;
export const CLOCK_REMEDY =
  "Tokens are judged by this machine's clock. If it is 30 s ahead, good tokens are refused with the reason expired. " +
  'If it is 30 s behind, the reason is not-before. Compare date -u on both machines with the right time, and set the ' +
  'wrong clock by NTP';

const CHECK_INTERVAL_MS = 1_000;
const REMINDER_INTERVAL_MS = 10 * 60_000;

/** Warns if this machine's clock and the database's differ, because then one of them is wrong. */
@Injectable()
export class ClockWatch implements OnApplicationBootstrap, OnApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  /** The time of the last warning; undefined if the clocks agreed at the last check. */
  private warnedAtMonotonicMs: number | undefined;

  constructor(
    private readonly clock: DatabaseClock,
    private readonly logger: ServiceLogger,
    metrics: Metrics,
  ) {
    metrics.addGauge({
      name: 'clock_offset_seconds',
      help: "How far the machine's clock is ahead of the database's; negative if behind, 0 if not known yet",
      collect: (gauge) => gauge.set((clock.machineOffsetMs ?? 0) / 1000),
    });
  }

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => this.check(), CHECK_INTERVAL_MS).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  private check(): void {
    const offsetMs = this.clock.machineOffsetMs;
    if (offsetMs === undefined) return;
    if (Math.abs(offsetMs) >= NOTICEABLE_OFFSET_MS) this.warn(offsetMs);
    else if (this.warnedAtMonotonicMs !== undefined) {
      this.warnedAtMonotonicMs = undefined;
      this.logger.log({ message: "clock: this machine's clock agrees with the database's again" });
    }
  }

  private warn(offsetMs: number): void {
    const nowMs = performance.now();
    const hasWarnedLately =
      this.warnedAtMonotonicMs !== undefined && nowMs - this.warnedAtMonotonicMs < REMINDER_INTERVAL_MS;
    if (hasWarnedLately) return;
    this.warnedAtMonotonicMs = nowMs;
    this.logger.warn({ message: `clock: ${describeOffset(offsetMs)}`, remedy: CLOCK_REMEDY });
  }
}

/** Returns a part of a sentence, such as "this machine's clock is 300 s ahead of the database's". */
export function describeOffset(offsetMs: number): string {
  const seconds = Math.abs(Math.round(offsetMs / 1000));
  return `this machine's clock is ${seconds} s ${offsetMs > 0 ? 'ahead of' : 'behind'} the database's`;
}
