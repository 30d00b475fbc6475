import { failureOf } from '../failure.js';
import { type Open, existingTables } from '../migration-session.js';
import type { StepsOf } from '../steps.js';
import { type Change, changesBetween } from './changes.js';
import { readContents } from './contents.js';
import { rehearse } from './rehearse.js';

export interface Plan {
  /** Names of the migrations, in the order in which they would run. */
  readonly migrations: readonly string[];
  readonly changes: readonly Change[];
  /** By the database's clock, in milliseconds since the epoch. */
  readonly now: number;
  /** An end that is at least this many days away counts as announced. */
  readonly noticeDays: number;
  /** Tables of keys and of the record of changes that would be dropped. */
  readonly lost: readonly string[];
}

const NOTICE_DAYS = 30;
/** Tables whose contents no migration can restore. */
const KEPT = ['api_key', 'history'];

/** What callers would see change if the steps were taken. None is. */
export async function planSteps(
  open: Open,
  stepsOf: StepsOf,
  noticeDays = NOTICE_DAYS,
): Promise<Plan> {
  const { before, after, ...plan } = await rehearse(open, async (client) => {
    const steps = await stepsOf(client, 0);
    const tables = await existingTables(client, KEPT);
    const contents = await readContents(client);
    for (const { name, run } of steps) {
      await client.query('set constraints all deferred');
      await run();
      // As at its commit
      await client.query('set constraints all immediate').catch((error: unknown) => {
        throw failureOf(`${name}.sql`, undefined, error);
      });
    }
    const left = await existingTables(client, KEPT);
    return {
      migrations: steps.map(({ name }) => name),
      before: contents,
      after: await readContents(client),
      lost: tables.filter((name) => !left.includes(name)),
    };
  });
  return { ...plan, changes: changesBetween(before, after), now: after.now, noticeDays };
}
