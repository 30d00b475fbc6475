// Runs each file by node-pg-migrate in a transaction of its own, together with its row in pgmigrations. A transaction-level advisory lock
// serializes the runs. A file runs inside a function, where PostgreSQL refuses each command that would begin or end a transaction.
import { readFile } from 'node:fs/promises';
import { runner } from 'node-pg-migrate';
import { type Client, DatabaseError } from 'pg';
import type { DatabaseAddress } from '../../configuration/database-url.js';
import { messageOf } from '../../telemetry/error-message.js';
import { AdministrationError, refuse, typed } from '../frame/command.js';
import { WRITING, columnOf, withWriting } from '../frame/connect.js';
import { type Direction, MIGRATIONS, pathOf, pendingOf, takeState } from './migration-files.js';

const AFRESH = `reset session authorization; reset role; reset all; ${WRITING}`;
/** The text is handed over as a setting, and taken out of it: parallel workers would copy it. */
const HAND_OVER = `select set_config('order_lookup.file', $1, true)`;
const EXECUTE = `do $$ declare file text := current_setting('order_lookup.file'); begin
  perform set_config('order_lookup.file', '', true); execute file; end $$; set constraints all immediate; set constraints all deferred`;

const LOCK = '7651, 1';
/** Of other roles PostgreSQL shows to some roles only when they began. */
const HOLDER = `select format('process %s, role %s, application %s%s', pid, usename, application_name, to_char(xact_start at time zone 'UTC', '", since "YYYY-MM-DD"T"HH24:MI:SS"Z"'))
  from pg_locks join pg_stat_activity using (pid) where locktype = 'advisory' and granted and (classid, objid) = (${LOCK}) and datname = current_database()`;

async function lockedState(client: Client, direction: Direction, most: string) {
  await client.query(`set local lock_timeout = '${most}'`);
  const { rowCount } = await client.query(`select where pg_try_advisory_xact_lock(${LOCK})`);
  for (const holder of rowCount ? [] : await columnOf(client, HOLDER))
    process.stderr.write(`Waiting for another run, at most ${most}: ${holder}.\n`);
  await client.query(`select pg_advisory_xact_lock(${LOCK})`);
  return takeState(client, direction);
}

/** Applies or undoes these migrations, by default those that are pending at the beginning, but for those that others apply or undo meanwhile. */
export async function runMigrations(
  direction: Direction,
  address: DatabaseAddress = process.env,
  names?: string[],
) {
  const done: string[] = [];
  const isOpen = (pending: readonly string[], name: string): boolean =>
    pending.includes(name) === (direction === 'up');
  try {
    for (;;) {
      let complete: string | undefined; // a file that ran, and whose COMMIT follows
      const runNext = async (client: Client): Promise<string | undefined> => {
        const state = await lockedState(client, direction, '120s');
        const next = (names ??= pendingOf(state)).find((one) => isOpen(state.pending, one));
        if (next) await runFile(client, next, direction);
        return (complete = next);
      };
      const name = await withWriting(runNext, address).catch(async (error: unknown) => {
        if (!complete) throw error;
        process.stderr.write(
          `The connection was lost while ${complete} was committed: ${messageOf(error)}. To see what is applied: ${typed('migrate', 'status')}\n`,
        );
        // The lock is free when the transaction has ended
        const state = await withWriting((client) => lockedState(client, direction, '6s'), address);
        if (isOpen(state.pending, complete)) refuse('It was not committed: nothing of it remains.');
        process.stderr.write('It was committed.\n');
        return complete;
      });
      if (!name) return done;
      done.push(name);
    }
  } catch (error) {
    const before = done.length > 0 ? `\nDone in this run: ${done.join(', ')}.` : '';
    return refuse(messageOf(error) + before);
  }
}

const MARKER = /^\ufeff?-- (?:Up|Down) Migration/m;
const ONE_TRANSACTION =
  'A migration is one transaction. Take out what begins or ends one (begin, commit, rollback, savepoint), and write insert instead of copy from stdin.';

/** Runs a file in the caller's transaction. Where PostgreSQL refuses it, the error has the SQLSTATE as `code`. */
export async function runFile(client: Client, name: string, direction: Direction, limits = '') {
  const file = await readFile(pathOf(name), 'utf8');
  // A clone on Windows may have other line ends, which would become part of functions
  const [head = '', up = '', down = ''] = file.replaceAll('\r\n', '\n').split(MARKER);
  const [before, part] = direction === 'up' ? [head, up] : [head + up, down];
  if (!/^\s*(?!--)[^\s;]/m.test(part))
    refuse(`${name}.sql has no statement on the way ${direction}.`);
  // Behind as many empty lines as there are lines before it, so that a position has its line of the file. Without the last statement, `select …
  // into` could not be the last one
  const script = `${before.replace(/[^\n]+/g, '')}${part}\n;select`;
  const settings = `${AFRESH}; set local order_lookup.migration = '${name}'; ${limits}`;
  /** Gets the statements of a transaction, those of the table, and the text of the file, which begins with a marker. */
  const query = async (text: string, values?: unknown[]): Promise<unknown> => {
    if (/^(BEGIN|COMMIT);$/.test(text)) return undefined; // the caller's
    await client.query(settings);
    if (!/^\s*--/.test(text)) return client.query(text, values);
    await client.query(HAND_OVER, [script]);
    return client.query(EXECUTE);
  };
  try {
    await runner({
      dbClient: { query } as unknown as Client,
      dir: MIGRATIONS,
      file: name,
      direction,
      migrationsTable: 'pgmigrations',
      checkOrder: false, // our own check knows files that were renumbered
      noLock: true, // the lock of the caller ends with its transaction
      log: () => undefined,
    });
  } catch (error) {
    // To others, such as that of a lost connection, the runner adds a stack
    if (!(error instanceof DatabaseError))
      throw Object.assign(error as Error, { message: messageOf(error).split('\n', 1)[0] });
    const { code, message, detail, hint, routine, internalQuery, internalPosition } = error;
    // Positions count characters from 1, and a string has two units for some of them
    const units = script.replace(/[\u{10000}-\u{10ffff}]/gu, '?');
    const line = units.slice(0, Number(internalPosition) - 1).split('\n').length;
    const place = internalQuery === script ? `, line ${line}` : '';
    const isRefused = routine === 'exec_stmt_dynexecute' || code === '2D000'; // of COMMIT in a block of PL/pgSQL
    const parts = [`${name}.sql${place}: ${message}`, detail, isRefused ? ONE_TRANSACTION : hint];
    const fault = parts.flatMap((each) => each?.slice(0, 500) ?? []).join('\n  ');
    throw Object.assign(new AdministrationError(fault), { code });
  }
}
