import type { Problem } from '../problems/problem.js';

/** A request that the rate limit has counted. */
export interface CountedRequest {
  /** The 429 to send instead of the answer, if the limit is used up. */
  readonly refusal: Problem | undefined;
  /** Takes the request out of the period in which it was counted, also if it was refused. */
  takeBack(): void;
}

type ChargeState =
  | { readonly name: 'open' }
  | { readonly name: 'charged'; readonly counted: CountedRequest }
  | { readonly name: 'waived' };

/**
 * The rate limit's charge for a GET or HEAD with If-None-Match. A 304 costs nothing, so the request is counted when its
 * answer is known. ServerAdapter knows the answer for what a handler returned, and ProblemFilter for what was thrown. A
 * handler that writes its response itself is counted when the response is closed, and is never refused.
 *
 * Beyond the limit only an Answer is still a 304: of any other body Express makes a 304 too late. Routes that are
 * polled return an Answer.
 */
export class ConditionalCharge {
  private state: ChargeState = { name: 'open' };

  constructor(private readonly countRequest: () => CountedRequest) {}

  /** The answer is not a 304. Gives the 429 to send instead. ServerAdapter and ProblemFilter may both ask. */
  charge(): Problem | undefined {
    if (this.state.name === 'waived') return undefined;
    if (this.state.name === 'charged') return this.state.counted.refusal;
    const counted = this.countRequest();
    this.state = { name: 'charged', counted };
    return counted.refusal;
  }

  /** The answer is a 304. */
  waive(): void {
    if (this.state.name === 'charged') this.state.counted.takeBack();
    this.state = { name: 'waived' };
  }

  /**
   * The response is closed, whoever wrote it. A request whose client left before the answer counts: otherwise to leave
   * early would be a way around the limit.
   */
  settle(status: number): void {
    if (this.state.name === 'waived') return;
    if (status === 304) this.waive();
    else this.charge();
  }
}
