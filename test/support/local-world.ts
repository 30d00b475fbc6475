import { LocalService } from './local-service.js';
import { useWorld } from './test-world.js';
import type { World, WorldOptions } from './world.js';

/**
 * Makes a world whose replicas run in the process of the test. If all replicas have processes of their own, use
 * only `processWorld` of test-world.ts, because this file loads the whole service.
 */
export function localWorld(options: Omit<WorldOptions<LocalService>, 'launch'> = {}): World<LocalService> {
  return useWorld({ ...options, launch: (environment) => LocalService.start(environment) });
}
