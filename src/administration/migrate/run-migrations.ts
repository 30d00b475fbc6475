// Runs each migration in its own session and transaction, together with its row in applied_migration: all of it is committed or nothing.
// Concurrent runs are serialized by a transaction-level advisory lock, so a killed run leaves no lock behind.
import { AdministrationError } from '../frame/command.js';
import { failureOf } from './failure.js';
import { type Open, beginAlone } from './migration-session.js';
import { type Step, type StepsOf, stepsDown, stepsUp } from './steps.js';

/**
 * Applies the pending migrations.
 * @returns the names of what this run applied
 * @throws AdministrationError that names file, line, statement and what PostgreSQL said, what this run applied and what it did not
 */
export const applyMigrations = async (folder: string, open: Open): Promise<string[]> =>
  run(open, 'applied', await stepsUp(folder));

/** Undoes the last `count` migrations, the last one first. Returns and throws as above. */
export const undoMigrations = async (
  folder: string,
  open: Open,
  count: number,
  shown?: readonly string[],
): Promise<string[]> => run(open, 'undone', await stepsDown(folder, count, shown));

async function run(open: Open, done: 'applied' | 'undone', stepsOf: StepsOf): Promise<string[]> {
  const names: string[] = [];
  for (;;) {
    let left: readonly Step[] = [];
    const client = await open();
    try {
      await beginAlone(client);
      left = await stepsOf(client, names.length);
      const [step] = left;
      if (!step) return names;
      await step.run();
      await client.query('commit').catch((error: unknown) => {
        throw failureOf(`${step.name}.sql`, undefined, error); // a deferred constraint
      });
      names.push(step.name);
    } catch (error) {
      if (!(error instanceof AdministrationError) || left.length === 0) throw error;
      throw new AdministrationError(
        `${error.message}\nIn this run ${done}: ${names.join(', ') || 'none'}. Not ${done}: ${left.map(({ name }) => name).join(', ')}. Correct the file and run the command again.`,
      );
    } finally {
      await client.end(); // this also ends the transaction
    }
  }
}
