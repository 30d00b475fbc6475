import { setTimeout as pause } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';

/** How long requests are answered after readiness has turned to 503, so that load balancers notice, in milliseconds. */
const DRAIN_MS = 4_000;

/** Whether the process is ending: readiness is 503 and replies close their connections, while requests still arrive. */
@Injectable()
export class Draining implements BeforeApplicationShutdown {
  hasBegun = false;

  /** @param signal that ends the process; without one the drain is skipped */
  async beforeApplicationShutdown(signal?: string): Promise<void> {
    this.hasBegun = true;
    if (signal !== undefined) await pause(DRAIN_MS);
  }
}
