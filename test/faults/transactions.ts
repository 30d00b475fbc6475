import { randomInt } from 'node:crypto';
import { startMigratedPostgres } from '../support/migrated-postgres.js';
import { randomTransactions } from '../support/random-transactions.js';

/** Random transactions of four writers. Gives what happened how often, and the first difference. */
export async function transactions(steps = 1_000): Promise<string> {
  const server = await startMigratedPostgres();
  process.env['TEST_POSTGRES_URL'] = server.url;
  const seed = Number(process.env['SEED'] ?? randomInt(2 ** 31));
  console.log(`seed ${seed}`); // also of a run that does not end
  try {
    const { counts, difference } = await randomTransactions(steps, seed);
    const said = Object.entries(counts).map(([what, count]) => `${count} ${what}`);
    return `seed ${seed}, ${steps} steps (${said.join(', ')}): ${difference ?? '0 differences'}`;
  } finally {
    await server.remove();
  }
}
