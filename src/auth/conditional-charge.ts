import type { Problem } from '../problems/problem.js';

/** What a charge does to the count of an API key. */
export interface ChargedCount {
  /** Counts the request. Gives the 429 if the limit is used up. */
  add(): Problem | undefined;
  takeBack(): void;
}

/**
 * The rate limit's charge for a GET or HEAD with If-None-Match. The answer may be a 304, which costs nothing, so the
 * request is counted when its answer is known. Two places know the answer before it is sent: ServerAdapter for what a
 * handler returned, and ProblemFilter for what was thrown. A handler that writes its response itself is charged at the
 * end.
 *
 * `open` becomes `waived` or `charged`, and `charged` becomes `waived` where Express made a 304 of the answer.
 */
export class ConditionalCharge {
  private state: 'open' | 'waived' | 'charged' = 'open';
  private refusal: Problem | undefined;

  constructor(private readonly count: ChargedCount) {}

  /** The answer is not a 304. Gives the 429 that has to be sent instead, if the limit is used up. */
  charge(): Problem | undefined {
    if (this.state === 'open') {
      this.state = 'charged';
      this.refusal = this.count.add();
    }
    return this.refusal;
  }

  /** The answer is a 304. */
  waive(): void {
    if (this.state === 'charged') this.count.takeBack();
    this.state = 'waived';
  }

  /** The response is closed, whoever wrote it. */
  settle(status: number): void {
    if (this.state === 'waived') return;
    if (status === 304) this.waive();
    else this.charge();
  }
}
