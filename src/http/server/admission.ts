// Checks each request before the router sees it: framing, size, and overload. Node's parser accepts more than RFC 9112 allows, and answers
// what it refuses without a body; this file and parser-errors.ts correct both. Whether the answer will close the connection is decided here,
// when the request arrives, since no later request on the connection may run.
import type { Server } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Metrics } from '../../telemetry/metrics.js';
import { Problem, retryAfter } from '../../problems/problem.js';
import { type Connection, connectionOf } from '../connection.js';
import { sendError } from '../problem.filter.js';
import { Replies } from '../replies.js';
import type { ServiceRequest, ServiceResponse } from '../service-request.js';
import { Batch } from './batch.js';
import { Connections } from './connections.js';
import { bodyProblem, framingProblem, isBodiless, toOriginForm } from './framing.js';
import { Overload } from './overload.js';
import { answerParserErrors } from './parser-errors.js';

export type Handler = (request: ServiceRequest, response: ServiceResponse) => void;

const expectationProblem = (): Problem =>
  new Problem('malformed-request', {
    status: 417,
    detail: 'The only expectation that can be met is 100-continue.',
  });

@Injectable()
export class Admission {
  constructor(
    private readonly replies: Replies,
    private readonly overload: Overload,
    private readonly connections: Connections,
    private readonly metrics: Metrics,
  ) {}

  /** Makes `server` pass correct requests to `handler`, and answer everything else with a problem document. */
  guard(server: Server, handler: Handler): void {
    this.connections.guard(server);
    const batch = new Batch<ServiceResponse>(
      (response) => {
        // In the meantime the client may have disconnected, or later bytes on the connection may have been invalid
        if (!response.headersSent && !response.destroyed) handler(response.req, response);
      },
      (response, error) => sendError(this.replies, response.req, response, error),
    );
    const admit = (request: ServiceRequest, response: ServiceResponse): void =>
      this.admit(request, response, batch);
    server.on('request', admit);
    // Without 100 (Continue) it is unknown whether a body follows, so Node closes the connection after its answer
    server.on('checkContinue', (request: ServiceRequest, response: ServiceResponse) => {
      response.shouldKeepAlive = false;
      admit(request, response);
    });
    server.on('checkExpectation', (request: ServiceRequest, response: ServiceResponse) =>
      this.admit(request, response, batch, expectationProblem()),
    );
    answerParserErrors(server, this.replies);
  }

  private admit(
    request: ServiceRequest,
    response: ServiceResponse,
    batch: Batch<ServiceResponse>,
    expectation?: Problem,
  ): void {
    const connection = connectionOf(request);
    if (connection.isClosing || request.socket.destroyed) return;
    this.connections.expectReply(connection, response);
    if (request.socket.destroyed) return;
    connection.last = response;
    request.open();
    const problem = framingProblem(request) ?? expectation;
    const hasChunks = request.head.transferEncoding !== undefined && isBodiless(request.method);
    if (problem || request.httpVersion === '1.0' || (request.hasContent && !hasChunks))
      response.shouldKeepAlive = false;
    const refusal = problem ?? this.overloadProblem(connection, response);
    if (refusal) return this.replies.sendProblem(request, response, refusal);
    request.url = toOriginForm(request.url ?? '');
    if (hasChunks) this.awaitEmptyBody(request, response, batch);
    else batch.add(response);
  }

  private overloadProblem(
    { isTurnedAway }: Connection,
    response: ServiceResponse,
  ): Problem | undefined {
    if (!isTurnedAway && this.overload.admits()) return undefined;
    if (isTurnedAway) response.shouldKeepAlive = false;
    this.metrics.requestsShed.inc();
    return new Problem('overloaded', {
      detail: 'More requests arrive than can be answered in time.',
      headers: retryAfter(2),
    });
  }

  /** Whether a chunked body is empty is known only when its first chunk or its end has arrived. */
  private awaitEmptyBody(
    request: ServiceRequest,
    response: ServiceResponse,
    batch: Batch<ServiceResponse>,
  ): void {
    const onData = (): void => {
      request.off('end', onEnd);
      response.shouldKeepAlive = false;
      this.replies.sendProblem(request, response, bodyProblem());
    };
    const onEnd = (): void => {
      request.off('data', onData);
      batch.add(response);
    };
    request.once('data', onData).once('end', onEnd);
  }
}
