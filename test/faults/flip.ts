import { flipCodes } from '../support/flipping.js';
import { World } from '../support/world.js';

/** Eight readers of three replicas while a writer flips every code. */
export async function flip(replies = 1_000_000): Promise<string> {
  const stage = await World.apart(3);
  try {
    const {
      flips,
      faults,
      seen,
      replies: read,
    } = await flipCodes(stage.database, stage.replicas, stage.credentials, {
      wanted: replies,
    });
    return [
      `${read} replies of ${stage.replicas.length} replicas during ${flips} flips of every code: ${faults.length} mixed or with a wrong entity tag; ${seen[0]} of the one set, ${seen[1]} of the other`,
      ...faults.slice(0, 5),
    ].join('\n');
  } finally {
    await stage.close();
  }
}
