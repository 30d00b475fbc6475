import type { Client } from 'pg';
import {
  type MigrationState,
  appliedMigrations,
  assertConsistent,
  compareWithApplied,
} from '../applied-migrations.js';
import { failureOf } from '../failure.js';
import type { Open } from '../migration-session.js';
import { readMigrations } from '../read-migrations.js';
import { apply, undo } from '../run-migrations.js';
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

/** What callers would see change if all pending migrations were applied. None is applied. */
export const planMigrations = (
  folder: string,
  open: Open,
  noticeDays = NOTICE_DAYS,
): Promise<Plan> =>
  planSteps(folder, open, noticeDays, (client, state) => {
    assertConsistent(state);
    return state.pending.map((migration) => () => apply(client, migration));
  });

/** The same for undoing the last `count` migrations. */
export const planUndoing = (folder: string, open: Open, count: number): Promise<Plan> =>
  planSteps(folder, open, NOTICE_DAYS, (client, { applied }) =>
    applied
      .toReversed()
      .slice(0, count)
      .map((entry) => () => undo(client, entry)),
  );

type Steps = readonly (() => Promise<string>)[];

async function planSteps(
  folder: string,
  open: Open,
  noticeDays: number,
  stepsOf: (client: Client, state: MigrationState) => Steps,
): Promise<Plan> {
  const files = await readMigrations(folder);
  const { before, after, ...plan } = await rehearse(open, async (client) => {
    const steps = stepsOf(client, compareWithApplied(files, await appliedMigrations(client)));
    const tables = await keptTables(client);
    const contents = await readContents(client);
    const migrations: string[] = [];
    for (const step of steps) {
      await client.query('set constraints all deferred');
      const name = await step();
      // As at its commit
      await client.query('set constraints all immediate').catch((error: unknown) => {
        throw failureOf(`${name}.sql`, undefined, error);
      });
      migrations.push(name);
    }
    const left = await keptTables(client);
    return {
      migrations,
      before: contents,
      after: await readContents(client),
      lost: tables.filter((name) => !left.includes(name)),
    };
  });
  return { ...plan, changes: changesBetween(before, after), now: after.now, noticeDays };
}

/** The existing tables whose contents no migration can restore. */
async function keptTables(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select name from unnest(array['api_key', 'history']) as name where to_regclass('public.' || name) is not null`,
  );
  return rows.map(({ name }) => name);
}
