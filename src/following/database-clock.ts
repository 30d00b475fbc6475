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
 * The clock of the database, as far as this process knows it. From each answer on it goes on by the monotonic clock of
 * the process, so it does not matter if the clock of this machine is wrong, or set.
 *
 * - After an answer it differs from the database's clock by the time that one answer takes, at most.
 * - Until the next answer, the drift between the two machines adds to that, the time for which this machine was
 *   suspended, and whatever somebody sets the database's clock by.
 * - Before the first answer it is this machine's clock. Nothing is served then.
 *
 * Where it cannot be right it is behind, not ahead: a code that begins late is an old answer, as any change is for a
 * moment. One that begins early is an answer that nobody has released yet.
 */
@Injectable()
export class DatabaseClock {
  /** To be added to the monotonic clock. Undefined before the first measurement. */
  private offsetMs: number | undefined;

  /** Milliseconds since the epoch. */
  now(): number {
    if (this.offsetMs === undefined) return Date.now();
    return performance.now() + this.offsetMs;
  }

  /** How far this machine's clock is ahead of the database's, or undefined before the first measurement. */
  get machineOffsetMs(): number | undefined {
    return this.offsetMs === undefined ? undefined : Date.now() - this.now();
  }

  /**
   * The database read its clock between question and answer, so the right offset is within two bounds. A present offset
   * that is within them stays: it is at least as near as the lowest one. Any other is replaced by the lowest one, with
   * which the clock is not ahead.
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
