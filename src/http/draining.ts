import { setTimeout as pause } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Configuration } from '../configuration/configuration.js';
import type { ApiServer } from './api-server.js';

/**
 * The closing time: how long clients may go on reading answers, and then how long they may go on sending a request. If
 * you raise it, raise terminationGracePeriodSeconds of deploy/kubernetes and stop_grace_period of docker-compose.yml.
 */
const CLOSE_MS = 4_000;
const LOOK_MS = 20;

/**
 * The end of the service for its callers: requests are answered for DRAIN_SECONDS, until no balancer sends new ones.
 * Then clients have the closing time to read what is being sent, the port is closed, and connections on which a request
 * is arriving have the closing time once more.
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
    const server = this.adapterHost.httpAdapter.getHttpServer() as ApiServer;
    if (signal !== undefined) {
      await pause(this.configuration.DRAIN_SECONDS * 1000);
      await untilAnswersAreRead(server);
    }
    setTimeout(() => server.closeAllConnections(), CLOSE_MS).unref();
  }
}

/** Node.js closes connections with the port whose answer is written, also while the client is still reading it. */
async function untilAnswersAreRead(server: ApiServer): Promise<void> {
  const endsAtMs = performance.now() + CLOSE_MS;
  while (server.isAnswering && performance.now() < endsAtMs) await pause(LOOK_MS);
}
