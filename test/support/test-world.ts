import { afterAll, beforeAll } from '@jest/globals';
import { World } from './world.js';

/** A world that is open from before the first to after the last test of a file or a `describe`. */
export function testWorld(...given: ConstructorParameters<typeof World>): World {
  const world = new World(...given);
  beforeAll(() => world.open());
  afterAll(() => world.close());
  return world;
}
