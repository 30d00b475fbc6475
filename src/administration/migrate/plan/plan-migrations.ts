import type { Client } from 'pg';
import { CodesSnapshot } from '../../../codes/codes-snapshot.js';
import { describe } from '../../../telemetry/repeated-failure.js';
import { AdministrationError } from '../../frame/command.js';
import { type MigrationState, noteNewNumbers, readState } from '../applied-migrations.js';
import type { MigrationFile } from '../migration-files.js';
import { type Step, runFile } from '../run-file.js';
import { type Change, changesBetween } from './changes.js';
import { limitsOf, rehearse } from './rehearse.js';
import { type ServiceView, viewOf } from './service-view.js';

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
  const { steps, before, after, now, wayBack } = await rehearse(async (client, manager) => {
    const state = await readState(client, files);
    const planned = stepsOf(state);
    await noteNewNumbers(client, state);
    const { rows } = await client.query<{ now: number }>(
      'select (extract(epoch from now()) * 1000)::float8 as now',
    );
    const found = { steps: planned, now: rows[0]?.now ?? 0, before: await viewOf(manager) };
    const states = await takeAll(client, folder, planned);
    const reached = await viewOf(manager);
    const backs = planned.flatMap((step, at) =>
      step.direction === 'up'
        ? [{ step, file: files.find(({ name }) => name === step.name), before: states[at] ?? '' }]
        : [],
    );
    return { ...found, after: reached, wayBack: await tryWaysBack(client, folder, backs) };
  });
  const lost = [...before.keys].filter(([key]) => !after.keys.has(key)).map(([, name]) => name);
  return {
    migrations: steps.map(({ name }) => name),
    changes: changesBetween(before.codes, after.codes, now),
    refusals: steps.length > 0 ? refusalsOf(after, now) : [],
    keys: { before: before.keys.size, after: after.keys.size, lost: [...new Set(lost)].sort() },
    wayBack,
  };
}

/** Takes the steps, and gives what the database held before each. */
async function takeAll(client: Client, folder: string, steps: readonly Step[]): Promise<string[]> {
  const states: string[] = [];
  for (const step of steps) {
    states.push(await fingerprint(client));
    try {
      await runFile(client, folder, step, limitsOf);
    } catch (error) {
      const { code } = ((error as Error).cause ?? {}) as { code?: string };
      if (code === '55P04' && states.length > 1)
        throw new AdministrationError(
          `The plan cannot tell what callers would see: ${step.name}.sql uses a new value of an enum, which has to be committed first. ${typedUp}`,
        );
      throw error;
    }
    await checkDeferred(client, step);
  }
  return states;
}

const typedUp = '`up` commits each file before it runs the next one.';

/** As at the commit. The cursor that forbids it is left alone. */
async function checkDeferred(client: Client, { name }: Step): Promise<void> {
  await client
    .query('set constraints all immediate')
    .catch((error: Error & { detail?: string }) => {
      throw new AdministrationError(
        [
          `${name}.sql, at the end of its transaction: ${describe(error)}`,
          ...(error.detail ? [`  ${error.detail}`] : []),
        ].join('\n'),
        { cause: error },
      );
    });
  await client.query('set constraints all deferred');
}

/** From the last one back: the database has to be what it was before each. */
async function tryWaysBack(
  client: Client,
  folder: string,
  backs: readonly { step: Step; file: MigrationFile | undefined; before: string }[],
): Promise<string[]> {
  for (const { step, file, before } of [...backs].reverse()) {
    const { name } = step;
    if (!file?.hasWayBack) return [`${name} has none: no statement below "-- Down Migration"`];
    await client.query('savepoint way_back');
    try {
      await runFile(client, folder, { name, direction: 'down' }, limitsOf);
      await checkDeferred(client, step);
    } catch (error) {
      await client.query('rollback to savepoint way_back');
      return [`that of ${name} fails: ${(error as Error).message.split('\n')[0]}`];
    }
    const [one, other] = [before, await fingerprint(client)].map(
      (text) => new Set(text.split('\n')),
    );
    const different = new Set(
      [...(one ?? []), ...(other ?? [])]
        .filter((line) => !(one?.has(line) && other?.has(line)))
        .map((line) => line.replace(/: [^:]*$/, '')),
    );
    if (different.size > 0)
      return [
        `that of ${name} leaves something else than was there before: ${[...different].join(', ')}`,
      ];
  }
  return [];
}

/** A line for each table and each function: its name, and what stands for its form and its rows. */
async function fingerprint(client: Client): Promise<string> {
  await client.query('reset role');
  const { rows } = await client.query<{ name: string; form: string }>(
    `select relname as name, md5(concat_ws(' ', relkind, relrowsecurity, relacl,
        (select string_agg(concat_ws(' ', attname, atttypid, attnotnull, attacl), ',' order by attnum) from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped),
        (select string_agg(conname || ' ' || pg_get_constraintdef(k.oid), ',' order by conname) from pg_constraint k where conrelid = c.oid),
        (select string_agg(concat_ws(' ', tgname, tgenabled), ',' order by tgname) from pg_trigger where tgrelid = c.oid and not tgisinternal),
        (select string_agg(indexrelid::regclass::text, ',' order by 1) from pg_index where indrelid = c.oid))) as form
      from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'v', 'm', 'p') and relname not in ('pgmigrations', 'history', 'revision')
     union all select p.oid::regprocedure::text || '()', md5(concat_ws(' ', prosrc, proacl, proconfig)) from pg_proc p where pronamespace = 'public'::regnamespace`,
  );
  const lines = rows.map(({ name, form }) => `${name}: ${form}`);
  const tables = await client.query<{ sql: string | null }>(
    `select string_agg(format('select %L as name, coalesce(sum(hashtextextended(t::text, 0)), 0)::text as rows from public.%I t', relname, relname), ' union all ') as sql
      from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and relname not in ('pgmigrations', 'history', 'revision') and has_table_privilege(oid, 'select')`,
  );
  if (tables.rows[0]?.sql)
    for (const { name, rows: sum } of (
      await client.query<{ name: string; rows: string }>(tables.rows[0].sql)
    ).rows)
      lines.push(`rows of ${name}: ${sum}`);
  return lines.sort().join('\n');
}

function refusalsOf({ codes, refusal, keys, keysRefusal }: ServiceView, now: number): string[] {
  const refusals: string[] = [];
  if (refusal !== undefined) refusals.push(`the service would not serve the codes: ${refusal}`);
  else
    try {
      void new CodesSnapshot(codes, now);
    } catch (error) {
      refusals.push(`the service would not serve the codes: ${describe(error)}`);
    }
  if (keysRefusal !== undefined)
    refusals.push(`callers will be refused: the service could not read its keys: ${keysRefusal}`);
  void keys;
  return refusals;
}
