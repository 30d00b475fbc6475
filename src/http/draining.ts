import { setTimeout as pause } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Configuration } from '../configuration/configuration.js';
import type { ApiServer } from './api-server.js';

/**
 * This limit applies twice: before the port closes, and after that. docs/operators.md adds 3 s for the rest: 11 s. If
 * you raise it, raise the 11 s there and all grace periods in deploy/ and docker-compose.yml.
 */
const CLOSE_TIMEOUT_MS = 4_000;
const LOOK_INTERVAL_MS = 20; // if you change it, change LOOK_INTERVAL_MS of draining.e2e-spec.ts, too

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
      await pause(this.configuration.DRAIN_SECONDS * 1000); // balancers stop sending requests in this time
      await waitUntilAnswersAreRead(server);
    }
    // Nest closes the port, and waits until all connections are closed. The timer cuts connections with half a request,
    // such as `GET /docs HTT`
    setTimeout(() => server.closeAllConnections(), CLOSE_TIMEOUT_MS).unref();
  }
}

/** Waits until clients have read their answers. When the port closes, Node.js cuts clients that are still reading. */
async function waitUntilAnswersAreRead(server: ApiServer): Promise<void> {
  const endsAtMs = performance.now() + CLOSE_TIMEOUT_MS;
  while (server.isAnswering && performance.now() < endsAtMs) await pause(LOOK_INTERVAL_MS);
}
