import { Injectable } from '@nestjs/common';

/** The database's time, and the times at which this process asked for it and got the answer. */
export interface ClockMeasurement {
  readonly databaseEpochMs: number;
  readonly askedAtMonotonicMs: number;
  readonly answeredAtMonotonicMs: number;
}

/**
 * An estimate of the database's clock. If that clock runs slower than ours or is set back, codes may begin before
 * `valid_from` until the next poll corrects the estimate. See docs/decisions.md, The poll interval.
 */
@Injectable()
export class DatabaseClock {
  /** The database's time minus the monotonic clock's. Undefined before the first measurement. */
  private offsetMs: number | undefined;

  /** Returns milliseconds since the epoch. */
  now(): number {
    if (this.offsetMs === undefined) return Date.now(); // good enough, because nothing is served before the first poll
    return performance.now() + this.offsetMs; // not Date.now(), because somebody may set that clock between two polls
  }

  /** This machine's time minus the database's. Undefined before the first measurement. */
  get machineOffsetMs(): number | undefined {
    return this.offsetMs === undefined ? undefined : Date.now() - this.now();
  }

  /**
   * Corrects the estimate. The database read its clock after our question and before its answer, so the offset has two
   * bounds. If it is outside, it becomes the lower bound, because the higher one could make codes begin too early.
   */
  correct(measurement: ClockMeasurement): void {
    const { databaseEpochMs, askedAtMonotonicMs, answeredAtMonotonicMs } = measurement;
    const lowestOffsetMs = databaseEpochMs - answeredAtMonotonicMs;
    const highestOffsetMs = databaseEpochMs - askedAtMonotonicMs;
    const { offsetMs } = this;
    const isWithinBounds = offsetMs !== undefined && offsetMs >= lowestOffsetMs && offsetMs <= highestOffsetMs;
    if (!isWithinBounds) this.offsetMs = lowestOffsetMs;
  }
}
