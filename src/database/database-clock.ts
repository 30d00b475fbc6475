import { Injectable } from '@nestjs/common';

/**
 * The database's clock, never ahead of it, and behind by the time that an answer takes. Between measurements, and while the database is away,
 * the process's monotonic clock goes on from the last one, whatever happens to the clock of this machine.
 */
@Injectable()
export class DatabaseClock {
  /** Added to performance.now(). Until the first measurement, this machine's clock has to do. */
  private offset: number | undefined;

  /** Milliseconds since the epoch. */
  now(): number {
    return this.offset === undefined ? Date.now() : performance.now() + this.offset;
  }

  /** How far it is ahead of this machine's clock. */
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
