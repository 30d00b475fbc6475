import { flipCodes } from '../support/flipping.js';
import type { World } from '../support/world.js';

/** Eight readers of three replicas while a writer flips every code. */
export async function flip(world: World, wanted = 1_000_000): Promise<string> {
  const { database, replicas, credentials } = world;
  const found = await flipCodes(database, replicas, credentials, { wanted });
  const { flips, faults, seen, replies } = found;
  return [
    `${replies} replies of ${replicas.length} replicas during ${flips} flips of every code: ${faults.length} mixed or with a wrong entity tag; ${seen[0]} of the one set, ${seen[1]} of the other`,
    ...faults.slice(0, 5),
  ].join('\n');
}
