import { setTimeout as pause } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Configuration } from '../configuration/configuration.js';

/** How long clients may go on reading answers once the port is closed. */
const CLOSE_MS = 4_000;

/** The end of the service for its callers: for a while requests are still answered, then the port is closed. */
@Injectable()
export class Draining implements BeforeApplicationShutdown {
  /** From the signal on: readiness is 503, and answers close their connections. */
  isDraining = false;

  constructor(
    private readonly configuration: Configuration,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  /** Nest closes the port when this is done. */
  async beforeApplicationShutdown(signal?: string): Promise<void> {
    this.isDraining = true;
    if (signal !== undefined) await pause(this.configuration.DRAIN_SECONDS * 1000);
    const server = this.adapterHost.httpAdapter.getHttpServer();
    setTimeout(() => server.closeAllConnections(), CLOSE_MS).unref();
  }
}
