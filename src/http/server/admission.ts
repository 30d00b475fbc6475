// Checks each request before the router sees it. Node's parser accepts more than RFC 9112 allows, and answers what it refuses without a body;
// this file and parser-errors.ts correct both. Whether the answer will close the connection is decided here, when the request arrives, since no
// later request on the connection may run.
import type { Server } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Problem } from '../../problems/problem.js';
import { Replies } from '../replies.js';
import type { ServiceRequest, ServiceResponse } from '../service-request.js';
import { connectionOf } from './connection.js';
import { Connections } from './connections.js';
import { bodyProblem, framingProblem, isBodiless, toOriginForm } from './framing.js';
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
    private readonly connections: Connections,
  ) {}

  /** Makes `server` pass correct requests to `handler`, and answer everything else with a problem document. */
  guard(server: Server, handler: Handler): void {
    this.connections.guard(server);
    answerParserErrors(server, this.replies);
    const admit =
      (expectation: (request: ServiceRequest) => Problem | undefined, keepsAlive = false) =>
      (request: ServiceRequest, response: ServiceResponse): void => {
        if (!this.connections.admits(request, response)) return;
        response.shouldKeepAlive &&= keepsAlive;
        this.admit(request, response, handler, expectation(request));
      };
    server.on(
      'request',
      admit(() => undefined, true),
    );
    // A body was announced, and is refused in any case. Without 100 (Continue) it is unknown whether it follows, so the connection is closed
    server.on(
      'checkContinue',
      admit((request) => (hasChunks(request) ? bodyProblem() : undefined)),
    );
    server.on('checkExpectation', admit(expectationProblem));
  }

  private admit(
    request: ServiceRequest,
    response: ServiceResponse,
    handler: Handler,
    expectation: Problem | undefined,
  ): void {
    request.open();
    const problem = framingProblem(request) ?? expectation;
    const isRefused = hasBody(request) && !hasChunks(request);
    if (problem || request.httpVersion === '1.0' || isRefused) response.shouldKeepAlive = false;
    connectionOf(request).inTurn(() => {
      // In the meantime later bytes on the connection may have been invalid, or the client may have left
      if (response.headersSent || request.socket.destroyed) return;
      if (problem) return this.replies.sendProblem(response, problem);
      request.url = toOriginForm(request.url ?? '');
      if (hasChunks(request)) this.awaitEmptyBody(request, response, handler);
      else handler(request, response);
    });
  }

  /** Whether a chunked body is empty is known only when its first chunk or its end has arrived. */
  private awaitEmptyBody(
    request: ServiceRequest,
    response: ServiceResponse,
    handler: Handler,
  ): void {
    const onData = (): void => {
      request.off('end', onEnd);
      response.shouldKeepAlive = false;
      this.replies.sendProblem(response, bodyProblem());
    };
    const onEnd = (): void => {
      request.off('data', onData);
      if (!response.headersSent) handler(request, response);
    };
    request.once('data', onData).once('end', onEnd);
  }
}

/** Whether a body is announced: a length above zero, or chunks. */
const hasBody = (request: ServiceRequest): boolean =>
  Number(request.field('content-length') ?? 0) > 0 || hasCoding(request);
const hasCoding = ({ headersDistinct }: ServiceRequest): boolean =>
  headersDistinct['transfer-encoding'] !== undefined;
const hasChunks = (request: ServiceRequest): boolean =>
  hasCoding(request) && isBodiless(request.method);
