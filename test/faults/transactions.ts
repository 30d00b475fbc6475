import { randomInt } from 'node:crypto';
import { randomTransactions } from '../support/random-transactions.js';
import type { World } from '../support/world.js';

/** Random transactions of four writers. Gives what happened how often, and the first difference. */
export async function transactions(world: World, steps = 1_000): Promise<string> {
  const seed = Number(process.env['SEED'] ?? randomInt(2 ** 31));
  console.log(`seed ${seed}`); // also of a run that does not end
  const { counts, difference } = await randomTransactions(world, steps, seed);
  const said = Object.entries(counts).map(([what, count]) => `${count} ${what}`);
  return `seed ${seed}, ${steps} steps (${said.join(', ')}): ${difference ?? '0 differences'}`;
}
