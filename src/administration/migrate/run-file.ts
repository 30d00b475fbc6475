// Runs one file of migrations by node-pg-migrate, in a transaction of the caller, together with its row in pgmigrations. So the caller decides
// what becomes of it: `up` commits each file, `plan` none.
import type { EventEmitter } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runner } from 'node-pg-migrate';
import type { Client, DatabaseError, QueryResult } from 'pg';
import { describe } from '../../telemetry/repeated-failure.js';
import { AdministrationError } from '../frame/command.js';

export interface Step {
  /** The name of the file, without .sql. */
  readonly name: string;
  readonly direction: 'up' | 'down';
}

/** Undoes what a file set. */
const RESET = 'reset session authorization; reset role; reset all';

/** What a migration may depend on, whatever role, database and connection string say. The server notices during a statement that the client is gone; not every platform can. */
const SETTINGS = `${RESET}; set local search_path = public, pg_temp; set local timezone = 'UTC';
  set local datestyle = 'ISO, MDY'; set local intervalstyle = 'postgres'; set local bytea_output = 'hex';
  set local standard_conforming_strings = on; set local row_security = on;
  do $$ begin set local client_connection_check_interval = '100ms'; exception when others then null; end $$`;

/**
 * Begins a transaction that a file cannot end, whatever it holds. At COMMIT PostgreSQL runs the query of the cursor, which fails (a deferred
 * constraint trigger would also fail at `set constraints all immediate`). After ROLLBACK the session can only read, and the cursor is gone.
 */
export async function beginGuarded(client: Client, limits: string): Promise<void> {
  // In one message, so that a pooler gives all of it to one session
  await client.query(
    `begin; set default_transaction_read_only = on; commit; begin isolation level read committed, read write; ${limits}`,
  );
}
export const forbidCommit = (client: Client): Promise<unknown> =>
  client.query(
    `declare order_lookup_no_commit cursor with hold for select ('a migration must not end its transaction, ' || pg_current_xact_id())::int`,
  );
export const allowCommit = (client: Client): Promise<unknown> =>
  client.query(`${RESET}; close all`);
const GUARD = `select from pg_cursors where name = 'order_lookup_no_commit'`;

/**
 * @param limits settings for the file, by its length: its time-outs
 * @throws AdministrationError that names file and line, or the number of the statement
 */
export async function runFile(
  client: Client,
  folder: string,
  step: Step,
  limits: (length: number) => string,
): Promise<void> {
  const { name, direction } = step;
  const content = await readFile(join(folder, `${name}.sql`), 'utf8');
  // The record of changes holds this name
  const setUp = async (): Promise<void> => {
    await client.query(`${SETTINGS}; ${limits(content.length)}`);
    await client.query(`select set_config('order_lookup.migration', $1, true)`, [name]);
  };
  const query = async (text: string, values?: unknown[]): Promise<QueryResult | undefined> => {
    if (['BEGIN', 'COMMIT', 'ROLLBACK'].includes(text)) return undefined; // the caller's
    if (!/^\s*--/.test(text)) return client.query(text, values);
    const result = await runScript(client, step, content, text.replace(/^\ufeff/, ''));
    const { rowCount } = await client.query(GUARD);
    if (!rowCount)
      throw new AdministrationError(
        `${name}.sql ended its transaction or closed all cursors. Take that statement out.`,
      );
    await client
      .query('set constraints all immediate; set constraints all deferred')
      .catch((error: Error) => {
        throw faultAt(`${name}.sql, at the end of its transaction`, error);
      });
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
  { name, direction }: Step,
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
    const { position, code } = error as DatabaseError;
    if (code === undefined) throw error; // the connection is lost
    // Only what is wrong in the text of a statement has a position
    const place = position
      ? `line ${lineOf(content, script, Number(position))}`
      : `statement ${done + 1} of the way ${direction}`;
    throw faultAt(`${name}.sql, ${place}`, error as DatabaseError);
  } finally {
    connection.off('commandComplete', count);
  }
}

function faultAt(
  place: string,
  error: Error & { detail?: string | undefined; hint?: string | undefined },
): AdministrationError {
  const said = [`${place}: ${describe(error)}`, error.detail, error.hint];
  return new AdministrationError(
    said.flatMap((text) => (text ? [text.slice(0, 500)] : [])).join('\n  '),
    { cause: error },
  );
}

/** PostgreSQL counts characters from 1, JavaScript UTF-16 units from 0. */
function lineOf(content: string, script: string, position: number): number {
  const pairs = script.slice(0, position).match(/[\ud800-\udbff]/g)?.length ?? 0;
  const index = content.indexOf(script.split('\n', 1)[0] ?? '') + position - 1 + pairs;
  return content.slice(0, index).split('\n').length;
}
