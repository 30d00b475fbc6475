// Runs one file of migrations by node-pg-migrate, in a transaction of the caller, together with its row in pgmigrations. So the caller decides
// what becomes of it: `up` commits each file, `plan` none.
import type { EventEmitter } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runner } from 'node-pg-migrate';
import type { Client, DatabaseError, QueryResult } from 'pg';
import { describe } from '../../telemetry/repeated-failure.js';
import { AdministrationError } from '../frame/command.js';
import { lineAt, statementsOf } from './sql-statements.js';

export interface Step {
  /** The name of the file, without .sql. */
  readonly name: string;
  readonly direction: 'up' | 'down';
}

/** How many lines of a statement an error shows, and how much of each. */
const [SHOWN_LINES, SHOWN_CHARACTERS] = [10, 200];

/** Undoes what a file set. */
const RESET = 'reset session authorization; reset role; reset all';

/** What a migration may depend on, whatever role, database and connection string say. The server notices during a statement that the client is gone; not every platform can. */
const SETTINGS = `${RESET}; set local search_path = public, pg_temp; set local timezone = 'UTC';
  set local datestyle = 'ISO, MDY'; set local intervalstyle = 'postgres'; set local bytea_output = 'hex';
  set local standard_conforming_strings = on; set local row_security = on;
  do $$ begin set local client_connection_check_interval = '100ms'; exception when others then null; end $$`;

/** At COMMIT PostgreSQL runs the query of such a cursor, which fails. A deferred constraint trigger would also fail at `set constraints all immediate`. */
const FORBID_COMMIT = `declare order_lookup_no_commit cursor with hold for
  select ('a migration must not end its transaction, ' || pg_current_xact_id())::int`;

/** From here on a COMMIT of this transaction fails, in whatever disguise it stands in a file. */
export const forbidCommit = (client: Client): Promise<unknown> => client.query(FORBID_COMMIT);
export const allowCommit = (client: Client): Promise<unknown> =>
  client.query(`${RESET}; close all`);

/**
 * @param limits settings for the file, by its length: its time-outs
 * @throws AdministrationError that names file, line and statement
 */
export async function runFile(
  client: Client,
  folder: string,
  { name, direction }: Step,
  limits: (length: number) => string,
): Promise<void> {
  const content = await readFile(join(folder, `${name}.sql`), 'utf8');
  // The record of changes holds this name
  const setUp = async (): Promise<void> => {
    await client.query(`${SETTINGS}; ${limits(content.length)}`);
    await client.query(`select set_config('order_lookup.migration', $1, true)`, [name]);
  };
  const query = async (text: string, values?: unknown[]): Promise<QueryResult | undefined> => {
    if (['BEGIN', 'COMMIT', 'ROLLBACK'].includes(text)) return undefined; // the caller's
    if (!/^\s*--/.test(text)) return client.query(text, values);
    const result = await runScript(client, `${name}.sql`, content, text.replace(/^\ufeff/, ''));
    await setUp(); // for the row in pgmigrations
    return result;
  };
  await setUp();
  await runner({
    dbClient: { query } as unknown as Client,
    dir: folder,
    file: name,
    direction,
    count: 1,
    migrationsTable: 'pgmigrations',
    migrationsSchema: 'public',
    checkOrder: false, // our own check knows files that were renumbered
    noLock: true, // the lock of the caller ends with its transaction
    singleTransaction: true,
    log: () => undefined,
  });
}

async function runScript(
  client: Client,
  file: string,
  content: string,
  script: string,
): Promise<QueryResult> {
  let done = 0;
  const count = (): void => void done++;
  const { connection } = client as unknown as { connection: EventEmitter };
  connection.on('commandComplete', count);
  try {
    return await client.query(script);
  } catch (error) {
    const { detail, hint, position, code } = error as DatabaseError;
    if (code === undefined) throw error; // the connection is lost
    const statements = statementsOf(script);
    const [from, to] = [statements[done]?.start ?? 0, statements[done + 1]?.start];
    // Only what is wrong in the text of a statement has a position
    const at = position === undefined ? from : indexOf(script, Number(position));
    const start = content.indexOf(script.slice(0, Math.min(200, script.length - 1)));
    const lines = script
      .slice(from, to)
      .slice(0, 100_000)
      .replace(/[\s;]+$/, '')
      .split('\n');
    throw new AdministrationError(
      [
        `${file}, line ${lineAt(content, start + at)}: ${describe(error).slice(0, 500)}`,
        ...[detail, hint].flatMap((text) => (text ? [`  ${text.slice(0, 500)}`] : [])),
        '',
        ...lines.slice(0, SHOWN_LINES).map((line) => `  ${line.slice(0, SHOWN_CHARACTERS)}`),
        ...(lines.length > SHOWN_LINES ? ['  …'] : []),
        '',
      ].join('\n'),
      { cause: error },
    );
  } finally {
    connection.off('commandComplete', count);
  }
}

/** PostgreSQL counts characters from 1, JavaScript UTF-16 units from 0. */
function indexOf(script: string, position: number): number {
  const pairs = script.slice(0, position - 1).match(/[\ud800-\udbff]/g)?.length ?? 0;
  return position - 1 + pairs;
}
