import { Injectable } from '@nestjs/common';

/** One question to the database for its time. */
export interface ClockMeasurement {
  /** What the database answered, in milliseconds since the epoch. */
  readonly databaseEpochMs: number;
  /** When it was asked, by the monotonic clock of the process. */
  readonly askedAtMonotonicMs: number;
  /** When the answer was there, by the monotonic clock of the process. */
  readonly answeredAtMonotonicMs: number;
}

/**
 * The clock of the database: never ahead of it, and behind it by at most the time that an answer takes. Between two
 * measurements, and while the database is away, the monotonic clock of the process goes on from the last one. So it
 * does not matter if the clock of this machine is wrong, or set.
 */
@Injectable()
export class DatabaseClock {
  /** To be added to the monotonic clock. Undefined before the first measurement. */
  private offsetMs: number | undefined;
  /** To be added to this machine's clock until the first measurement. */
  private assumedAheadMs = 0;

  /** Milliseconds since the epoch. */
  now(): number {
    if (this.offsetMs === undefined) return Date.now() + this.assumedAheadMs;
    return performance.now() + this.offsetMs;
  }

  /** How far it is ahead of this machine's clock. */
  get aheadMs(): number {
    return this.now() - Date.now();
  }

  /** Until the first measurement the clock is assumed to be as far ahead as an earlier process found it. */
  assumeAhead(aheadMs: number): void {
    this.assumedAheadMs = aheadMs;
  }

  /**
   * The database read its clock between question and answer, so the offset is between two bounds. If the present one
   * is outside of them, the lower one takes its place. Otherwise the present one is at least as good.
   */
  measured(measurement: ClockMeasurement): void {
    const { databaseEpochMs, askedAtMonotonicMs, answeredAtMonotonicMs } = measurement;
    const leastOffsetMs = databaseEpochMs - answeredAtMonotonicMs;
    const mostOffsetMs = databaseEpochMs - askedAtMonotonicMs;
    const { offsetMs } = this;
    const fits = offsetMs !== undefined && offsetMs >= leastOffsetMs && offsetMs <= mostOffsetMs;
    if (!fits) this.offsetMs = leastOffsetMs;
  }
}
