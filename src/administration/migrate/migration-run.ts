import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runner } from 'node-pg-migrate';
import type { Client, DatabaseError } from 'pg';
import { describe } from '../../telemetry/repeated-failure.js';
import { AdministrationError } from '../frame/administration-error.js';
import { assertNoTransactionControl, migrationNames } from './migrations.js';
import { lineAt, statementsOf } from './sql-statements.js';

/** Where the runner keeps which migrations were applied. */
const TABLE = 'pgmigrations';
/** How long a migration waits for another run, or for a table that someone holds. */
const LOCK_TIMEOUT = '120s';

type Direction = 'up' | 'down';
type Query = (...query: unknown[]) => Promise<unknown>;

/** Names of the migrations that were applied, in their order. */
export async function appliedMigrations(client: Client): Promise<string[]> {
  const { rows: tables } = await client.query(
    `select from pg_tables where schemaname = current_schema() and tablename = '${TABLE}'`,
  );
  if (tables.length === 0) return [];
  const { rows } = await client.query<{ name: string }>(
    `select name from ${TABLE} order by run_on, id`,
  );
  return rows.map(({ name }) => name);
}

/** Every replica reads everything anew after a run, whatever it did to the triggers that tell of changes. */
export async function raiseEveryTopic(client: Client): Promise<void> {
  const { rows } = await client.query<{ there: boolean }>(
    `select to_regprocedure('public.raise_every_topic()') is not null as there`,
  );
  if (rows[0]?.there) await client.query('select public.raise_every_topic()');
}

/**
 * Runs migrations, each in a transaction of its own, under the runner's advisory lock: runs at the same time take turns.
 * @param through changes how statements reach the database; a plan keeps them from being committed
 * @returns the names of what was applied or undone
 * @throws AdministrationError that names file, line, statement and what PostgreSQL said
 */
export async function runMigrations(
  client: Client,
  folder: string,
  direction: Direction,
  count: number,
  through = (query: Query): Query => query,
): Promise<string[]> {
  await assertNoTransactionControl(folder, await migrationNames(folder));
  await client.query(`set lock_timeout = '${LOCK_TIMEOUT}'`);
  const progress = follow(client);
  const logger = {
    info: (line: string) => progress.heard(line),
    warn: () => undefined,
    error: () => undefined,
    debug: () => undefined,
  };
  const query = through(client.query.bind(client));
  try {
    const dbClient = {
      query: (...statement: unknown[]) => progress.watch(statement, query),
    } as unknown as Client;
    const done = await runner({
      dbClient,
      dir: folder,
      direction,
      count,
      migrationsTable: TABLE,
      advisoryLockMode: 'wait',
      checkOrder: true,
      logger,
    });
    return done.map(({ name }) => name);
  } catch (error) {
    throw await explain(folder, direction, progress, error);
  }
}

/** Knows which migration runs and how many statements of it were completed, from what the runner and the server say. */
function follow(client: Client) {
  const progress = {
    migration: '',
    completed: 0,
    /** What was refused, and after how many statements of it. The runner asks more of the server afterwards. */
    failed: undefined as { sql: string; completed: number } | undefined,
    heard(line: string): void {
      const [, name] = /^### MIGRATION (\S+)/.exec(line) ?? [];
      if (name) progress.migration = name;
    },
    async watch(statement: unknown[], query: Query): Promise<unknown> {
      progress.completed = 0;
      try {
        return await query(...statement);
      } catch (error) {
        progress.failed ??= { sql: String(statement[0]), completed: progress.completed };
        throw error;
      }
    },
  };
  (client as unknown as { connection: NodeJS.EventEmitter }).connection.on(
    'commandComplete',
    () => progress.completed++,
  );
  return progress;
}

async function explain(
  folder: string,
  direction: Direction,
  { migration, failed }: ReturnType<typeof follow>,
  error: unknown,
): Promise<AdministrationError> {
  if (!migration || !failed)
    return new AdministrationError(`The migrations cannot be run: ${describe(error)}`);
  const file = `${migration}.sql`;
  const text = await readFile(join(folder, file), 'utf8');
  const from = text.indexOf(failed.sql.replace(/;$/, '')); // the runner ends each part with a semicolon
  const { detail, hint, position } = error as DatabaseError;
  const statements = from < 0 ? [] : statementsOf(failed.sql);
  // PostgreSQL counts characters from 1, JavaScript UTF-16 units from 0. Only faults of the text itself have a position.
  const at = position
    ? Array.from(failed.sql)
        .slice(0, Number(position) - 1)
        .join('').length
    : statements[failed.completed]?.start;
  const statement = statements.findLast(({ start }) => at !== undefined && start <= at);
  return new AdministrationError(
    [
      `${file}, ${statement && at !== undefined ? `line ${lineAt(text, from + at)}` : 'at its commit'}: ${describe(error)}`,
      ...(detail ? [`  ${detail}`] : []),
      ...(hint ? [`  ${hint}`] : []),
      ...(statement ? ['', ...statement.text.split('\n').map((line) => `  ${line}`), ''] : []),
      direction === 'up'
        ? `Nothing of ${file} was applied. Migrations before it stay. Mend the file and run the command again.`
        : `Nothing of ${file} was undone. Migrations behind it are undone already. Mend the file and run the command again.`,
    ].join('\n'),
  );
}
