import { afterAll, beforeAll } from '@jest/globals';
import type { ReachableService } from './reachable-service.js';
import type { RunningService } from './running-service.js';
import { World, type WorldOptions, startProcess } from './world.js';

type Options = Omit<WorldOptions<RunningService>, 'launch'>;

/** Opens a world before the first test of a file or a `describe`, and closes it after the last one. */
export function useWorld<Service extends ReachableService>(options: WorldOptions<Service>): World<Service> {
  const world = new World(options);
  beforeAll(() => world.open());
  afterAll(() => world.close());
  return world;
}

/** Makes a world whose replicas are processes, for tests of signals, the log, memory, or variables of Node.js. */
export function processWorld(options: Options = {}): World {
  return useWorld({ ...options, launch: startProcess });
}
