import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Load, Tally } from './generator.js';

/** Runs the load generator in its own thread until the end of the load. */
export async function generate(load: Load): Promise<Tally> {
  const worker = new Worker(join(import.meta.dirname, 'generator.js'), { workerData: load });
  const [tally] = (await once(worker, 'message')) as [Tally];
  return tally;
}
