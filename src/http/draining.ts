import { setTimeout as pause } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Configuration } from '../configuration/configuration.js';

/** The closing time: how long clients may go on sending a request and reading answers once the port is closed. */
const CLOSE_MS = 4_000;

/**
 * The end of the service for its callers: requests are answered for DRAIN_SECONDS, until no balancer sends new ones.
 * Then the port is closed, and connections that are not idle have the closing time.
 */
@Injectable()
export class Draining implements BeforeApplicationShutdown {
  /** True from the signal on. Readiness is 503 then, and each answer closes its connection. */
  isDraining = false;

  constructor(
    private readonly configuration: Configuration,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  /** Nest closes the port when this method is done. Without a signal, as after a failed start, there is no draining. */
  async beforeApplicationShutdown(signal?: string): Promise<void> {
    this.isDraining = true;
    if (signal !== undefined) await pause(this.configuration.DRAIN_SECONDS * 1000);
    const server = this.adapterHost.httpAdapter.getHttpServer();
    setTimeout(() => server.closeAllConnections(), CLOSE_MS).unref();
  }
}
