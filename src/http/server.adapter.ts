import type { IncomingMessage, ServerOptions, ServerResponse } from 'node:http';
import { StreamableFile } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import { Answer } from './answer.js';
import { ApiServer } from './api-server.js';
import { otherMethods } from './other-methods.js';

/** Nest's adapter for Express, on a server with options of our own. */
export class ServerAdapter extends ExpressAdapter {
  constructor(private readonly serverOptions: ServerOptions) {
    // Express makes its router with the first middleware, which is Nest's own: later these settings have no effect
    super(express().enable('case sensitive routing').enable('strict routing'));
  }

  override initHttpServer(): void {
    const listener = listenerOf(this.getInstance<Express>());
    this.httpServer = new ApiServer(this.serverOptions, listener);
  }

  /** Nest would answer only below the global prefix. */
  override setNotFoundHandler(handler: RequestHandler): void {
    this.use(otherMethods);
    this.use(handler);
  }

  override reply(response: Response, body: unknown, status?: number): unknown {
    if (body instanceof Answer) return body.sendTo(response);
    throwIfLimited(response, body);
    if (body instanceof StreamableFile) body.setErrorHandler(passToFilter);
    return super.reply(response, body, status);
  }
}

/** @throws Problem 429 if the rate limit of the caller is used up: only an Answer may be a 304, which costs nothing */
function throwIfLimited(response: Response, body: unknown): void {
  const { rateLimitProblem } = response.req.context;
  if (!rateLimitProblem) return;
  if (body instanceof StreamableFile) body.getStream().destroy(); // it may hold an open file
  throw rateLimitProblem;
}

/** Express calls back where it cannot route a target, instead of an HTML page: then requestLimits refuses it. */
function listenerOf(app: Express) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    if (!request.socket.writable) return; // the rest of a packet, of which there may be a thousand requests
    app(request as Request, response as Response, () => {
      request.url = '/';
      app(request, response);
    });
  };
}

/** Nest would answer 400 in plain text where a file cannot be read. */
function passToFilter(error: Error, response: object): void {
  const { req: request } = response as Response;
  request.next?.(error);
}
