import { setTimeout as pause } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Draining } from '../http/draining.js';

/** How long requests are still answered after readiness turned 503, so that load balancers notice, in milliseconds. */
const DRAIN_MS = 4_000;

/** The first part of an end: readiness says so, and replies close their connections, while requests still come. */
@Injectable()
export class DrainService implements BeforeApplicationShutdown {
  constructor(private readonly draining: Draining) {}

  /** @param signal what ends the process; without one nobody has to notice before it ends */
  async beforeApplicationShutdown(signal?: string): Promise<void> {
    this.draining.begin();
    if (signal !== undefined) await pause(DRAIN_MS);
  }
}
