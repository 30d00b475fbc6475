import type { Client } from 'pg';
import { AdministrationError } from '../../frame/command.js';
import { type MigrationState, noteNewNumbers, readState } from '../applied-migrations.js';
import type { MigrationFile } from '../migration-files.js';
import { type Step, runFile } from '../run-file.js';
import { type Change, changesBetween } from './changes.js';
import { limitsOf, rehearse } from './rehearse.js';
import { viewOf } from './service-view.js';

export interface Plan {
  /** Names of the migrations, in the order in which they would run. */
  readonly migrations: readonly string[];
  readonly changes: readonly Change[];
  /** What would keep the service from serving, a sentence each. */
  readonly refusals: readonly string[];
  /** API keys in force before and after, and the clients whose keys would not be. */
  readonly keys: {
    readonly before: number;
    readonly after: number;
    readonly lost: readonly string[];
  };
  /** Where the way back of a migration fails or leaves something behind. */
  readonly wayBack: readonly string[];
}

export const canBreakClients = ({ changes, refusals, keys }: Plan): boolean =>
  refusals.length > 0 || keys.lost.length > 0 || changes.some(({ breaks }) => breaks !== undefined);

/** What callers would see change if the steps were taken. None is. */
export async function planSteps(
  folder: string,
  files: readonly MigrationFile[],
  stepsOf: (state: MigrationState) => readonly Step[],
): Promise<Plan> {
  return rehearse(async (client, manager) => {
    const state = await readState(client, files);
    const steps = stepsOf(state);
    await noteNewNumbers(client, state);
    const { rows } = await client.query<{ now: number }>(
      'select (extract(epoch from now()) * 1000)::float8 as now',
    );
    const before = await viewOf(manager);
    const states: string[][] = [];
    for (const step of steps) {
      states.push(await fingerprint(client));
      await runFile(client, folder, step, limitsOf).catch((error: Error) => {
        const { code } = (error.cause ?? {}) as { code?: string };
        if (code !== '55P04' || states.length === 1) throw error;
        throw new AdministrationError(
          `The plan cannot tell what callers would see: ${step.name}.sql uses a new value of an enum, which has to be committed first. \`up\` commits each file before it runs the next one.`,
        );
      });
    }
    const after = await viewOf(manager);
    const lost = [...before.keys].filter(([key]) => !after.keys.has(key)).map(([, name]) => name);
    let wayBack: string | undefined;
    for (const [at, { name, direction }] of [...steps.entries()].reverse())
      if (direction === 'up')
        wayBack ??= await tryWayBack(
          client,
          folder,
          files.find((file) => file.name === name),
          states[at] ?? [],
        );
    return {
      migrations: steps.map(({ name }) => name),
      changes: changesBetween(before.codes, after.codes, rows[0]?.now ?? 0),
      refusals: steps.length > 0 ? after.refusals : [],
      keys: { before: before.keys.size, after: after.keys.size, lost: [...new Set(lost)].sort() },
      wayBack: wayBack === undefined ? [] : [wayBack],
    };
  });
}

/** What is wrong with it: the database has to be what it was before the file. */
async function tryWayBack(
  client: Client,
  folder: string,
  file: MigrationFile | undefined,
  before: readonly string[],
): Promise<string | undefined> {
  if (!file) return undefined;
  const { name, hasWayBack } = file;
  if (!hasWayBack) return `${name} has none: no statement below "-- Down Migration"`;
  await client.query('savepoint way_back');
  try {
    await runFile(client, folder, { name, direction: 'down' }, limitsOf);
  } catch (error) {
    await client.query('rollback to savepoint way_back');
    return `that of ${name} fails: ${(error as Error).message.split('\n')[0]}`;
  }
  const after = await fingerprint(client);
  const different = [
    ...before.filter((line) => !after.includes(line)),
    ...after.filter((line) => !before.includes(line)),
  ].map((line) => line.replace(/: -?\d+$/, ''));
  return different.length === 0
    ? undefined
    : `that of ${name} leaves something else than was there before: ${[...new Set(different)].join(', ')}`;
}

/** A line for each name in `public`, and for the rows of each table. */
async function fingerprint(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string; sql: string | null }>(
    `select c.relname || coalesce('.' || a.attname, '') as name, case when relkind = 'r' and attname is null and relname not in ('pgmigrations', 'history', 'revision') and has_table_privilege(c.oid, 'select') then
        format('select %L || sum(hashtextextended(t::text, 0)) as name from public.%I t', 'rows of ' || relname || ': ', relname) end as sql
      from pg_class c left join (select attrelid, attname from pg_attribute where attnum > 0 and not attisdropped union all select oid, null from pg_class) a on a.attrelid = c.oid
      where relnamespace = 'public'::regnamespace
     union all select oid::regprocedure::text, null from pg_proc where pronamespace = 'public'::regnamespace
     union all select conname, null from pg_constraint where connamespace = 'public'::regnamespace
     union all select tgname || ' of ' || tgrelid::regclass, null from pg_trigger where not tgisinternal`,
  );
  const sums = await client.query<{ name: string | null }>(
    rows.flatMap(({ sql }) => sql ?? []).join(' union all ') || 'select where false',
  );
  return [...rows, ...sums.rows].flatMap(({ name }) =>
    name?.startsWith('pgmigrations') ? [] : (name ?? []),
  );
}
