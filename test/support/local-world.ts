import { LocalService } from './local-service.js';
import { useWorld } from './test-world.js';
import type { World, WorldOptions } from './world.js';

/**
 * A world whose replicas run in the process of the test. It stands apart from `processWorld`, since a file that imports
 * this one loads the whole service.
 */
export function localWorld(options: Omit<WorldOptions<LocalService>, 'launch'> = {}): World<LocalService> {
  return useWorld({ ...options, launch: (environment) => LocalService.start(environment) });
}
