import { setTimeout as pause } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Draining } from '../http/draining.js';

/** How long requests are answered after readiness has turned to 503, so that load balancers notice, in milliseconds. */
const DRAIN_MS = 4_000;

/** The first part of a shutdown: readiness is 503 and replies close their connections, while requests still arrive. */
@Injectable()
export class DrainService implements BeforeApplicationShutdown {
  constructor(private readonly draining: Draining) {}

  /** @param signal the signal that ends the process; without one the drain is skipped */
  async beforeApplicationShutdown(signal?: string): Promise<void> {
    this.draining.begin();
    if (signal !== undefined) await pause(DRAIN_MS);
  }
}
