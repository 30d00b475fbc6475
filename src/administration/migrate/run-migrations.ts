// Runs files of migrations by node-pg-migrate: each in a transaction of its own, together with its row in pgmigrations, so that all of it is
// committed or nothing. Concurrent runs are serialized by a transaction-level advisory lock, so a killed run leaves no lock behind.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runner } from 'node-pg-migrate';
import type { Client, DatabaseError } from 'pg';
import type { DatabaseAddress } from '../../configuration/database-url.js';
import { messageOf } from '../../telemetry/error-message.js';
import { AdministrationError, refuse, typed } from '../frame/command.js';
import { withDatabase } from '../frame/connect.js';
import * as files from './migration-files.js';

const LIMITS = `set local lock_timeout = '30s'; set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0`;
/** What a file may depend on, whatever role, database, connection string and former files say. The server notices during a statement that the client is gone; not every platform can. */
const SETTINGS = `reset session authorization; reset role; reset all; set local search_path = public, pg_temp;
  set local timezone = 'UTC'; set local datestyle = 'ISO, MDY'; set local intervalstyle = 'postgres';
  set local bytea_output = 'hex'; set local standard_conforming_strings = on; set local row_security = on;
  do $$ begin set local client_connection_check_interval = '100ms'; exception when others then null; end $$`;
const GUARD = '"the transaction, which a migration must not end"';

type Direction = 'up' | 'down';

/**
 * Applies or undoes the migrations that `namesOf` chooses at the beginning, after all files were checked, but for those that others apply or
 * undo meanwhile. Gives the names of what this run applied or undid.
 * @throws AdministrationError that names file, line and what PostgreSQL said, and what this run did before
 */
export async function runMigrations(
  direction: Direction,
  address?: DatabaseAddress,
  namesOf = files.pendingOf,
): Promise<string[]> {
  const all = await files.readMigrations();
  const done: string[] = [];
  let names: string[] | undefined;
  let lost = ''; // a migration whose COMMIT had no answer
  const runNext = async (client: Client): Promise<string | undefined> => {
    await begin(client, `set local lock_timeout = '120s'`);
    await client.query('select pg_advisory_xact_lock(7651, 1)');
    const state = await files.takeState(client, all);
    names ??= namesOf(state);
    const name = names.find((one) => state.pending.includes(one) === (direction === 'up'));
    // The lock is free, so the transaction of a lost COMMIT has ended
    if (lost && name === lost) refuse('It was not committed: nothing of it remains.');
    if (lost) process.stderr.write('It was committed.\n');
    lost = '';
    if (!name) return undefined;
    await runFile(client, name, direction, () => LIMITS);
    await client.query(`close ${GUARD}; commit`).catch(() => {
      lost = name;
      process.stderr.write(`The connection was lost while ${name} was committed.\n`);
    });
    done.push(name);
    return name;
  };
  try {
    // The end of its session ends a transaction, too
    while (await withDatabase(runNext, address)) continue;
    return done;
  } catch (error) {
    const said = [messageOf(error)];
    if (lost) said.push(`See what is applied: ${typed('migrate', 'status')}`);
    const known = done.filter((name) => name !== lost);
    if (known.length > 0) said.push(`Done in this run: ${known.join(', ')}.`);
    return refuse(said.join('\n'));
  }
}

/**
 * Begins a transaction that a file cannot end, whatever it holds. At COMMIT PostgreSQL runs the query of the cursor, which fails (a deferred
 * constraint trigger would also fail at `set constraints all immediate`). After ROLLBACK the session can only read, and the cursor is gone.
 * All in one message, so that a pooler gives all of it to one session.
 */
export const begin = (client: Client, limits: string): Promise<unknown> =>
  client.query(
    `begin; set default_transaction_read_only = on; commit; begin isolation level read committed, read write; ${limits};
     declare ${GUARD} cursor with hold for select ('a migration must not end its transaction, ' || pg_current_xact_id())::int`,
  );

/** Settings for a file, by its length: its time-outs. */
type Limits = (length: number) => string;

/**
 * Runs a file in the caller's transaction.
 * @throws AdministrationError that names the file, and the line if PostgreSQL knows it; `code` is the SQLSTATE
 */
export async function runFile(client: Client, name: string, direction: Direction, limits: Limits) {
  const content = await readFile(join(files.MIGRATIONS, `${name}.sql`), 'utf8');
  const [, up, down = ''] = content.split(/^\ufeff?-- (?:Up|Down) Migration/m);
  if (!/^\s*(?!--)[^\s;]/m.test((direction === 'up' ? up : down) ?? ''))
    refuse(`${name}.sql has no statement on the way ${direction}.`);
  // The record of changes holds the name
  const settings = `${SETTINGS}; ${limits(content.length)}; set local order_lookup.migration = '${name}'`;
  let script = '';
  const query = async (text: string, values?: unknown[]): Promise<unknown> => {
    if (['BEGIN', 'COMMIT', 'ROLLBACK'].includes(text)) return undefined; // the caller's
    if (!/^\s*--/.test(text)) return client.query(text, values);
    script = text;
    await client.query(settings);
    await client.query(script.replace(/^\ufeff/, ''));
    await client.query(
      `move 0 in ${GUARD}; set constraints all immediate; set constraints all deferred`,
    );
    return client.query(settings); // for the row in pgmigrations
  };
  try {
    await runner({
      dbClient: { query } as unknown as Client,
      dir: files.MIGRATIONS,
      file: name,
      direction,
      migrationsTable: 'pgmigrations',
      migrationsSchema: 'public',
      checkOrder: false, // our own check knows files that were renumbered
      noLock: true, // the lock of the caller ends with its transaction
      singleTransaction: true,
      log: () => undefined,
    });
  } catch (error) {
    const { code, message, detail, hint, position } = error as DatabaseError;
    if (code === undefined) throw error; // the connection is lost
    // The script is a part of the file, with a semicolon at its end
    const end = content.indexOf(script.slice(0, -1)) + Number(position);
    const place = position ? `, line ${content.slice(0, end).split('\n').length}` : '';
    const said = [`${name}.sql${place}: ${message}`, detail, hint];
    const text = said.flatMap((one) => one?.slice(0, 500) ?? []).join('\n  ');
    throw Object.assign(new AdministrationError(text), { code });
  }
}
