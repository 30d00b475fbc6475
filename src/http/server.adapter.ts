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
    // Express reads both settings when it makes its router, with the first middleware, which is one of Nest's
    super(express().enable('case sensitive routing').enable('strict routing'));
  }

  override initHttpServer(): void {
    const listener = listenerOf(this.getInstance<Express>());
    this.httpServer = new ApiServer(this.serverOptions, listener);
  }

  /** Registers the last handlers for every path. Nest itself would register them only below the global prefix. */
  override setNotFoundHandler(handler: RequestHandler): void {
    this.use(otherMethods);
    this.use(handler);
  }

  override reply(response: Response, body: unknown, status?: number): unknown {
    const { req: request } = response;
    if (body instanceof Answer) return body.sendTo(request, response);
    if (body instanceof StreamableFile) body.setErrorHandler(passToFilter);
    return super.reply(response, body, status);
  }
}

/**
 * Runs Express for each request. Express calls back where it cannot parse a target, instead of sending its HTML page.
 * Then the request runs once more under a path that Express can parse, so that requestLimits refuses its real target.
 */
function listenerOf(app: Express) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    // The connection was closed, but Node.js runs all requests of a packet, of which there may be thousands
    if (!request.socket.writable) return;
    app(request as Request, response as Response, () => {
      request.url = '/';
      app(request, response);
    });
  };
}

/** Passes the failure of a file to ProblemFilter. Nest itself would answer 400 in plain text. */
function passToFilter(error: Error, response: object): void {
  const { req: request, destroyed, writableEnded } = response as Response;
  if (destroyed || writableEnded) return; // the client left, or has all bytes
  request.next?.(error);
}
