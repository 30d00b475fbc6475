import { Injectable } from '@nestjs/common';

/**
 * The clock of the database: never ahead of it, and behind it by at most the time that an answer takes. Between measurements, and while the
 * database is away, the monotonic clock of the process continues from the last measurement, so changes of this machine's clock do not matter.
 */
@Injectable()
export class DatabaseClock {
  /** Added to performance.now(). Until the first measurement it is that of this machine's clock. */
  private offset: number | undefined;

  /** Milliseconds since the epoch. */
  now(): number {
    return this.offset === undefined ? Date.now() : performance.now() + this.offset;
  }

  /** Milliseconds by which it is ahead of this machine's clock. */
  get offsetMs(): number {
    return this.now() - Date.now();
  }

  /**
   * @param time of the database, in milliseconds since the epoch
   * @param asked and received: when, by performance.now()
   */
  measured(time: number, asked: number, received = performance.now()): void {
    const [least, most] = [time - received, time - asked];
    if (this.offset === undefined || this.offset < least || this.offset > most) this.offset = least;
  }
}
