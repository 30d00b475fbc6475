import { Injectable } from '@nestjs/common';

// The clock of the database: never ahead of it, and behind it by at most the time that an answer takes. Between measurements, and while the
// database is away, the monotonic clock of the process continues from the last one, so changes of this machine's clock do not matter.
@Injectable()
export class DatabaseClock {
  private offset: number | undefined; // added to performance.now()
  /** By how much an earlier process found it ahead of this machine's clock: it counts until the first measurement. */
  assumedMs = 0;

  /** Milliseconds since the epoch. */
  now(): number {
    const { offset } = this;
    return offset === undefined ? Date.now() + this.assumedMs : performance.now() + offset;
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
