import type { Client } from 'pg';
import { AdministrationError } from '../../frame/command.js';
import {
  type MigrationState,
  type Step,
  noteNewNumbers,
  readState,
} from '../applied-migrations.js';
import { readMigrations } from '../migration-files.js';
import { runFile } from '../run-migrations.js';
import { changesBetween } from './changes.js';
import { limitsOf, rehearse } from './rehearse.js';
import { viewOf } from './service-view.js';

export type Plan = Awaited<ReturnType<typeof planSteps>>;
type Coded = Error & { readonly code?: string };

/** What callers would see change if the steps were taken. None is. */
export async function planSteps(stepsOf: (state: MigrationState) => Step[]) {
  const files = await readMigrations();
  const [before, after, migrations, wayBack] = await rehearse(async (client, manager) => {
    const state = await readState(client, files);
    const steps = stepsOf(state);
    await noteNewNumbers(client, state);
    const former = await viewOf(manager);
    const faults: string[] = []; // where a way back fails or leaves something behind
    for (const { name, direction } of steps) {
      const earlier = await fingerprint(client);
      await runFile(client, { name, direction }, limitsOf).catch((error: Coded) => {
        if (error.code !== '55P04') throw error; // the value of an enum is used before it is committed
        throw new AdministrationError(
          `The plan cannot tell what callers would see: ${error.message}`,
        );
      });
      if (direction === 'up') faults.push(...(await tryWayBack(client, name, earlier)));
    }
    return [former, await viewOf(manager), steps.map(({ name }) => name), faults] as const;
  });
  const changes = changesBetween(before.codes, after.codes, before.now);
  const refusals = migrations.length > 0 ? after.refusals : [];
  const lost = [...before.keys].flatMap(([key, name]) => (after.keys.has(key) ? [] : name));
  return {
    migrations,
    changes,
    refusals,
    /** In force, and the clients whose keys would not be. */
    keys: { before: before.keys.size, after: after.keys.size, lost: [...new Set(lost)].sort() },
    wayBack,
    canBreakClients: refusals.length + lost.length > 0 || changes.some(({ breaks }) => breaks),
  };
}

/** What is wrong with it: the database has to be what it was before the file. */
async function tryWayBack(client: Client, name: string, before: string[]): Promise<string[]> {
  await client.query('savepoint way_back');
  try {
    await runFile(client, { name, direction: 'down' }, limitsOf);
    const after = await fingerprint(client);
    const different = [
      ...before.filter((line) => !after.includes(line)),
      ...after.filter((line) => !before.includes(line)),
    ].map((line) => line.replace(/: .*/, ''));
    return different.length === 0
      ? []
      : [`that of ${name} leaves something else behind: ${[...new Set(different)].join(', ')}`];
  } catch (error) {
    return [`that of ${name} fails: ${(error as Error).message.split('\n')[0]}`];
  } finally {
    await client.query('rollback to savepoint way_back');
  }
}

/** A line for each name in `public`, and for the rows of each table. */
async function fingerprint(client: Client): Promise<string[]> {
  const tables = await client.query<{ sum: string }>(
    `select format('select %L || sum(hashtextextended(t::text, 0)) from public.%I t', 'rows of ' || relname || ': ', relname) as sum
      from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
        and relname not in ('pgmigrations', 'history', 'revision') and has_table_privilege(oid, 'select')`,
  );
  const { rows } = await client.query<{ line: string | null }>(
    [
      `select attrelid::regclass || '.' || attname as line from pg_attribute join pg_class c on c.oid = attrelid
        where relnamespace = 'public'::regnamespace and attnum > 0 and not attisdropped and relname not like 'pgmigrations%'`,
      `select oid::regprocedure::text from pg_proc where pronamespace = 'public'::regnamespace`,
      `select conname from pg_constraint where connamespace = 'public'::regnamespace and conname not like 'pgmigrations%'`,
      `select tgname || ' of ' || tgrelid::regclass from pg_trigger where not tgisinternal`,
      ...tables.rows.map(({ sum }) => sum),
    ].join(' union all '),
  );
  return rows.flatMap(({ line }) => line ?? []);
}
