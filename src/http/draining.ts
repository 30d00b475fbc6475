import { setTimeout as pause } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Configuration } from '../configuration/configuration.js';
import type { ApiServer } from './api-server.js';

/**
 * The time limit of step 2 of Draining, and also of step 3. If you raise the limit, raise the grace periods of
 * deploy/kubernetes and docker-compose.yml, too: otherwise the platform kills the process first.
 */
const CLOSE_TIMEOUT_MS = 4_000;
const LOOK_INTERVAL_MS = 20;

/**
 * Ends the service for its callers in three steps:
 *
 * 1. During DRAIN_SECONDS each answer has `Connection: close`. Balancers stop sending requests in this time.
 * 2. Clients have CLOSE_TIMEOUT_MS to read answers that are being written, such as the rest of `/docs/…bundle.js`.
 * 3. Nest closes the port. A connection with half a request, such as `GET /docs HTT`, is cut after CLOSE_TIMEOUT_MS.
 */
@Injectable()
export class Draining implements BeforeApplicationShutdown {
  /** True when the service ends: readiness is 503, and each answer closes its connection. */
  isDraining = false;

  constructor(
    private readonly configuration: Configuration,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  /** Waits before Nest closes the port. Does not wait if there was no signal, for example after a failed start. */
  async beforeApplicationShutdown(signal?: string): Promise<void> {
    this.isDraining = true;
    const server = this.adapterHost.httpAdapter.getHttpServer() as ApiServer;
    if (signal !== undefined) {
      await pause(this.configuration.DRAIN_SECONDS * 1000);
      await waitUntilAnswersAreRead(server);
    }
    setTimeout(() => server.closeAllConnections(), CLOSE_TIMEOUT_MS).unref();
  }
}

/** Waits until clients have read their answers. When the port closes, Node.js cuts clients that are still reading. */
async function waitUntilAnswersAreRead(server: ApiServer): Promise<void> {
  const endsAtMs = performance.now() + CLOSE_TIMEOUT_MS;
  while (server.isAnswering && performance.now() < endsAtMs) await pause(LOOK_INTERVAL_MS);
}
