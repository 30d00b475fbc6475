import { Injectable } from '@nestjs/common';

/** One question to the database for its time. */
export interface ClockMeasurement {
  /** The time that the database answered, in milliseconds since the epoch. */
  readonly databaseEpochMs: number;
  /** The time of the question, by the monotonic clock of the process. */
  readonly askedAtMonotonicMs: number;
  /** The time of the answer, by the monotonic clock of the process. */
  readonly answeredAtMonotonicMs: number;
}

/**
 * An estimate of the database's clock. Between two answers of the database, it advances with this process's monotonic
 * clock. So it does not matter if this machine's clock is wrong, or if somebody sets it.
 *
 * - After an answer, the estimate is wrong by at most the time that the answer took.
 * - Until the next answer, a drift or a sleep of this machine makes it wrong, and so does setting the database's clock.
 * - Before the first answer, `now` returns this machine's time. Nothing is served then.
 *
 * After an answer, the estimate may be slow, but not fast. If it is slow, callers get the old codes a moment longer.
 * If it were fast, callers would get a new code before its `valid_from`.
 */
@Injectable()
export class DatabaseClock {
  /** The database's time minus the monotonic clock's. Undefined before the first measurement. */
  private offsetMs: number | undefined;

  /** Returns milliseconds since the epoch. */
  now(): number {
    if (this.offsetMs === undefined) return Date.now();
    return performance.now() + this.offsetMs;
  }

  /** This machine's time minus the database's. Undefined before the first measurement. */
  get machineOffsetMs(): number | undefined {
    return this.offsetMs === undefined ? undefined : Date.now() - this.now();
  }

  /**
   * Corrects the clock. The database read its clock after the question and before the answer, so the right offset is
   * between two bounds. An offset between them may be right, and stays. Any other offset is wrong, and is replaced by
   * the lower bound, so that the clock is not fast.
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
