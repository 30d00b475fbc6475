// What happens to a request before Express sees it: framing and size are checked, and load beyond the limit is shed. Node's parser
// lets through more than RFC 9112 allows, and answers what it refuses without a body; both are mended here and in parser-errors.ts.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { connections, requestsShed } from '../../telemetry/metrics.js';
import { Problem } from '../../problems/problem.js';
import { retryAfter } from '../../problems/retry-after.js';
import { Batch } from './batch.js';
import type { ServiceRequest, ServiceResponse } from '../service-request.js';
import { bodyProblem, framingProblem, isBodiless } from './framing.js';
import { maxConnections } from './max-connections.js';
import type { Overload } from './overload.js';
import { answerParserErrors } from './parser-errors.js';
import type { Replies } from '../replies.js';
import type { ProblemRenderer } from '../../problems/problem-details.js';

export type Handler = (request: ServiceRequest, response: ServiceResponse) => void;

/** A connection knows the answer that it will carry last, so that nothing is answered before it or run after it closes. */
export interface ServiceSocket extends Socket {
  lastResponse?: ServiceResponse;
}

export class Admission {
  private readonly limit = maxConnections();
  private open = 0;

  constructor(
    private readonly replies: Replies,
    private readonly problems: ProblemRenderer,
    private readonly overload: Overload,
  ) {}

  /** Makes `server` hand the requests that are in order to `handler`, and answer everything else with a problem document. */
  guard(server: Server, handler: Handler): void {
    const batch = new Batch<ServiceResponse>((response) => handler(response.req, response));
    const admit = (request: ServiceRequest, response: ServiceResponse): void =>
      this.admit(request, response, batch);
    server.on('request', admit);
    server.on('checkContinue', admit); // no 100 (Continue): no operation reads a body
    server.on('checkExpectation', (request: ServiceRequest, response: ServiceResponse) => {
      request.open();
      this.replies.problem(
        request,
        response,
        new Problem('malformed-request', {
          status: 417,
          detail: 'The only expectation that can be met is 100-continue.',
          close: true,
        }),
      );
    });
    // Above our own limit requests are answered 503; a little above that, Node drops connections unanswered to save descriptors.
    server.maxConnections = this.limit + 32;
    server.on('connection', (socket: Socket) => {
      connections.set(++this.open);
      socket.once('close', () => connections.set(--this.open));
    });
    answerParserErrors(server, this.problems, this.replies);
  }

  private admit(
    request: ServiceRequest,
    response: ServiceResponse,
    batch: Batch<ServiceResponse>,
  ): void {
    request.open();
    const socket = request.socket as ServiceSocket;
    const closing = socket.lastResponse?.shouldKeepAlive === false;
    if (closing) return; // pipelined behind an answer that closes the connection: must not run (RFC 9112 section 9.6)
    socket.lastResponse = response;
    const problem = framingProblem(request) ?? this.overloadProblem();
    if (problem) this.replies.problem(request, response, problem);
    else if (request.head.transferEncoding !== undefined && isBodiless(request.method))
      this.awaitEmptyBody(request, response, batch);
    else batch.add(response);
  }

  private overloadProblem(): Problem | undefined {
    if (this.open <= this.limit && this.overload.admits()) return undefined;
    requestsShed.inc();
    return new Problem('overloaded', {
      detail: 'More requests arrive than can be answered in time.',
      headers: retryAfter(2),
      close: this.open > this.limit,
    });
  }

  /** Whether chunks hold anything shows only when the first of them, or the end, has arrived. */
  private awaitEmptyBody(
    request: ServiceRequest,
    response: ServiceResponse,
    batch: Batch<ServiceResponse>,
  ): void {
    const onData = (): void => {
      request.off('end', onEnd);
      this.replies.problem(request, response, bodyProblem());
    };
    const onEnd = (): void => {
      request.off('data', onData);
      batch.add(response);
    };
    request.once('data', onData).once('end', onEnd);
  }
}
