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
 * The clock of the database, as far as this process knows it. From each answer on it goes on by the monotonic clock of
 * the process, so it does not matter if the clock of this machine is wrong, or set.
 *
 * - After an answer it is wrong by the duration of that answer at most.
 * - Until the next answer, it does not notice if a machine drifts or sleeps, or if somebody sets the database's clock.
 * - Before the first answer it is this machine's clock. Nothing is served then.
 *
 * If it is wrong after an answer, it is slow, not fast. A code that begins late only keeps the old answer a moment
 * longer. A code that begins early would be an answer that nobody has released yet.
 */
@Injectable()
export class DatabaseClock {
  /** The difference to the monotonic clock. Undefined before the first measurement. */
  private offsetMs: number | undefined;

  /** Returns milliseconds since the epoch. */
  now(): number {
    if (this.offsetMs === undefined) return Date.now();
    return performance.now() + this.offsetMs;
  }

  /** How far this machine's clock is ahead of the database's, or undefined before the first measurement. */
  get machineOffsetMs(): number | undefined {
    return this.offsetMs === undefined ? undefined : Date.now() - this.now();
  }

  /**
   * Corrects the clock by an answer. The database read its clock between question and answer, so the right offset is
   * within two bounds. An offset within the bounds stays, because it is no worse than the lower bound. Any other offset
   * is replaced by the lower bound, with which the clock is not fast.
   */
  measured(measurement: ClockMeasurement): void {
    const { databaseEpochMs, askedAtMonotonicMs, answeredAtMonotonicMs } = measurement;
    const lowestOffsetMs = databaseEpochMs - answeredAtMonotonicMs;
    const highestOffsetMs = databaseEpochMs - askedAtMonotonicMs;
    const { offsetMs } = this;
    const isWithinBounds = offsetMs !== undefined && offsetMs >= lowestOffsetMs && offsetMs <= highestOffsetMs;
    if (!isWithinBounds) this.offsetMs = lowestOffsetMs;
  }
}
