import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runner } from 'node-pg-migrate';
import type { Client } from 'pg';
import { describe } from '../telemetry/repeated-failure.js';
import { AdministrationError } from './connect.js';
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
  const { rows: tables } = await client.query(`select from pg_tables where schemaname = current_schema() and tablename = '${TABLE}'`);
  if (tables.length === 0) return [];
  const { rows } = await client.query<{ name: string }>(`select name from ${TABLE} order by run_on, id`);
  return rows.map(({ name }) => name);
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
  const logger = { info: (line: string) => progress.heard(line), warn: () => undefined, error: () => undefined, debug: () => undefined };
  const query = through(client.query.bind(client) as Query);
  try {
    const dbClient = { query: (...statement: unknown[]) => progress.watch(() => query(...statement)) } as unknown as Client;
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
    heard(line: string): void {
      const [, name] = /^### MIGRATION (\S+)/.exec(line) ?? [];
      if (name) progress.migration = name;
    },
    watch(query: () => Promise<unknown>): Promise<unknown> {
      progress.completed = 0;
      return query();
    },
  };
  (client as unknown as { connection: NodeJS.EventEmitter }).connection.on('commandComplete', () => progress.completed++);
  return progress;
}

async function explain(
  folder: string,
  direction: Direction,
  { migration, completed }: ReturnType<typeof follow>,
  error: unknown,
): Promise<AdministrationError> {
  if (!migration) return new AdministrationError(`The migrations cannot be run: ${describe(error)}`);
  const file = `${migration}.sql`;
  const text = await readFile(join(folder, file), 'utf8');
  const marks = { up: text.search(/^--\s*up migration/im), down: text.search(/^--\s*down migration/im) };
  const [from, to] =
    direction === 'up' ? [Math.max(0, marks.up), marks.down < 0 ? text.length : marks.down] : [Math.max(0, marks.down), text.length];
  const statement = statementsOf(text.slice(from, to))[completed];
  const { detail, hint } = error as { detail?: string; hint?: string };
  return new AdministrationError(
    [
      `${file}${statement ? `, line ${lineAt(text, from + statement.start)}` : ''}: ${describe(error)}`,
      ...(detail ? [`  ${detail}`] : []),
      ...(hint ? [`  ${hint}`] : []),
      ...(statement ? ['', ...statement.text.split('\n').map((line) => `  ${line}`), ''] : []),
      `Nothing of ${file} was applied. Migrations before it stay. Mend the file and run the command again.`,
    ].join('\n'),
  );
}
