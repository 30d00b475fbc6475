import { afterAll, beforeAll } from '@jest/globals';
import type { ReachableService } from './reachable-service.js';
import type { RunningService } from './running-service.js';
import { World, type WorldOptions, startProcess } from './world.js';

type Options = Omit<WorldOptions<RunningService>, 'launch'>;

/** Open from before the first to after the last test of a file or a `describe`. */
export function useWorld<Service extends ReachableService>(options: WorldOptions<Service>): World<Service> {
  const world = new World(options);
  beforeAll(() => world.open());
  afterAll(() => world.close());
  return world;
}

/** A world whose replicas are processes: for tests of signals, the log, memory, or the variables of Node.js. */
export function processWorld(options: Options = {}): World {
  return useWorld({ ...options, launch: startProcess });
}
