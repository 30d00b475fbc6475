// Runs each file by node-pg-migrate in a transaction of its own, together with its row in pgmigrations. A transaction-level advisory lock
// serializes the runs. A file runs inside a function, where PostgreSQL refuses each command that would begin or end a transaction.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runner } from 'node-pg-migrate';
import { type Client, DatabaseError } from 'pg';
import type { DatabaseAddress } from '../../configuration/database-url.js';
import { messageOf } from '../../telemetry/error-message.js';
import { AdministrationError, refuse, typed } from '../frame/command.js';
import { WRITING, textsOf, withWriting } from '../frame/connect.js';
import * as files from './migration-files.js';

/** What a file may depend on, whatever former files set. */
const AFRESH = `reset session authorization; reset role; reset all; ${WRITING}`;
/** Statements of node-pg-migrate; all others are those of its table and the text of the file, which begins with a marker. */
const TRANSACTION_OF_RUNNER = /^(BEGIN|COMMIT|ROLLBACK)$/;
const MARKER_OF_FILE = /^\s*--/;
/** The text is handed over as a setting, and taken out of it: parallel workers would copy it. */
const HAND_OVER = `select set_config('order_lookup.file', $1, true)`;
const EXECUTE = `do $$ declare file text := current_setting('order_lookup.file'); begin
  perform set_config('order_lookup.file', '', true); execute file; end $$`;
const CHECK_DEFERRED = 'set constraints all immediate; set constraints all deferred';

const LOCK = '7651, 1';
const TRY_LOCK = `select where pg_try_advisory_xact_lock(${LOCK})`;
/** Of other roles PostgreSQL shows to some roles only when they began. */
const HOLDER = `select format('process %s, role %s, application %s%s', pid, usename, application_name, to_char(xact_start at time zone 'UTC', '", since "YYYY-MM-DD"T"HH24:MI:SS"Z"'))
  from pg_locks join pg_stat_activity using (pid) where locktype = 'advisory' and granted and (classid, objid) = (${LOCK})
    and database = (select oid from pg_database where datname = current_database())`;

/** Says at once who is waited for. */
async function lock(client: Client, most: string): Promise<void> {
  await client.query(`set local lock_timeout = '${most}'`);
  if ((await client.query(TRY_LOCK)).rowCount) return;
  for (const holder of await textsOf(client, HOLDER))
    process.stderr.write(`Waiting for another run, at most ${most}: ${holder}.\n`);
  await client.query(`select pg_advisory_xact_lock(${LOCK})`);
}

type Direction = 'up' | 'down';

/**
 * Applies or undoes the migrations that `namesOf` chooses at the beginning, after all files were checked, but for those that others apply or
 * undo meanwhile. Gives the names of what this run applied or undid.
 * @throws AdministrationError that names file, line and what PostgreSQL reported, and what this run did before
 */
export async function runMigrations(
  direction: Direction,
  address?: DatabaseAddress,
  namesOf = files.pendingOf,
): Promise<string[]> {
  const all = await files.readMigrations();
  const done: string[] = [];
  let names: string[] | undefined;
  let complete: string | undefined; // a file that ran, and whose COMMIT follows
  const isOpen = (state: files.MigrationState, name: string): boolean =>
    state.pending.includes(name) === (direction === 'up');
  const runNext = async (client: Client): Promise<string | undefined> => {
    await lock(client, '120s');
    const state = await files.takeState(client, all);
    const name = (names ??= namesOf(state)).find((one) => isOpen(state, one));
    if (name) await runFile(client, name, direction);
    return (complete = name);
  };
  /** After a COMMIT without an answer: its transaction has ended when the lock is free. */
  const look = (name: string) => async (client: Client) => {
    await lock(client, '6s');
    if (isOpen(await files.readState(client, all), name))
      refuse('It was not committed: nothing of it remains.');
    process.stderr.write('It was committed.\n');
    return name;
  };
  try {
    for (;;) {
      complete = undefined;
      const name = await withWriting(runNext, address).catch((error: unknown) => {
        if (!complete) throw error;
        process.stderr.write(
          `The connection was lost while ${complete} was committed: ${messageOf(error)}. To see what is applied: ${typed('migrate', 'status')}\n`,
        );
        return withWriting(look(complete), address);
      });
      if (!name) return done;
      done.push(name);
    }
  } catch (error) {
    const before = done.length > 0 ? `\nDone in this run: ${done.join(', ')}.` : '';
    return refuse(messageOf(error) + before);
  }
}

/**
 * Runs a file in the caller's transaction.
 * @param limits more settings for the file
 * @throws AdministrationError that names the file, and the line if PostgreSQL knows it; `code` is the SQLSTATE
 */
export async function runFile(client: Client, name: string, direction: Direction, limits = '') {
  const content = await readFile(join(files.MIGRATIONS, `${name}.sql`), 'utf8');
  const [, up, down = ''] = content.split(/^\ufeff?-- (?:Up|Down) Migration/m);
  if (!/^\s*(?!--)[^\s;]/m.test((direction === 'up' ? up : down) ?? ''))
    refuse(`${name}.sql has no statement on the way ${direction}.`);
  // The record of changes holds the name
  const settings = `${AFRESH}; set local order_lookup.migration = '${name}'; ${limits}`;
  const query = async (text: string, values?: unknown[]): Promise<unknown> => {
    if (TRANSACTION_OF_RUNNER.test(text)) return undefined; // the caller's
    if (!MARKER_OF_FILE.test(text)) return client.query(text, values);
    // The runner adds a semicolon. Without a last statement like this, `select … into` could not be the last one
    const part = text.trim().slice(0, -1);
    const script = `${part}\n;select`;
    await client.query(settings);
    await client.query(HAND_OVER, [script]);
    await client.query(EXECUTE).catch((error: DatabaseError) => {
      const before = content.slice(0, content.indexOf(part));
      throw described(error, `${name}.sql${placeOf(error, before, script)}`);
    });
    await client.query(CHECK_DEFERRED);
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
    throw described(error, `${name}.sql`);
  }
}

const ONE_TRANSACTION =
  'A migration is one transaction. Take out what begins or ends one (begin, commit, rollback, savepoint), and write insert instead of copy from stdin.';

/** An error of PostgreSQL in words for people; another one, such as that of a lost connection, without the stack that the runner adds. */
function described(error: unknown, place: string): unknown {
  if (error instanceof AdministrationError) return error;
  if (!(error instanceof DatabaseError)) return new Error(messageOf(error).split('\n', 1)[0]);
  const { code, message, detail, hint, routine } = error;
  const isRefused = routine === 'exec_stmt_dynexecute' || code === '2D000'; // of COMMIT in a block of PL/pgSQL
  const parts = [`${place}: ${message}`, detail, isRefused ? ONE_TRANSACTION : hint];
  const text = parts.flatMap((part) => part?.slice(0, 500) ?? []).join('\n  ');
  return Object.assign(new AdministrationError(text), { code });
}

/** The line of the file, if the error has a position in the script. */
function placeOf(error: DatabaseError, before: string, script: string): string {
  if (!error.internalPosition || error.internalQuery !== script) return '';
  // The position counts characters, from 1, and a string of JavaScript UTF-16 units
  let [line, left] = [before.split('\n').length, Number(error.internalPosition)];
  for (const character of script) {
    if (--left < 1) break;
    if (character === '\n') line++;
  }
  return `, line ${line}`;
}
