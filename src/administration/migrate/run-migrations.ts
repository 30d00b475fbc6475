// Runs each migration in its own session and transaction, together with its row in pgmigrations: all of it is committed or nothing. Concurrent
// runs are serialized by a transaction-level advisory lock, so a killed run leaves no lock behind. If the connection is lost while COMMIT is on
// its way, the outcome is asked for, and told.
import { setTimeout as pause } from 'node:timers/promises';
import type { Client, DatabaseError } from 'pg';
import { describe } from '../../telemetry/repeated-failure.js';
import { AdministrationError, typed } from '../frame/command.js';
import {
  type MigrationState,
  assertConsistent,
  goneSentence,
  noteNewNumbers,
  readState,
} from './applied-migrations.js';
import { readMigrations } from './migration-files.js';
import { type Step, allowCommit, beginGuarded, forbidCommit, runFile } from './run-file.js';

/** Makes a new session for each migration. */
export type Open = () => Promise<Client>;

/** Key of the advisory lock that serializes runs. It is released when its transaction ends. */
export const RUN_LOCK = '7651, 1';
const RUN_TIMEOUT = '120s';
const LIMITS = `set local lock_timeout = '30s'; set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0`;
/** For how long the outcome of a lost COMMIT is asked for. */
const [ASK_MS, ASK_EVERY_MS] = [30_000, 500];

/** The steps that are left after `done` of them. */
type StepsOf = (state: MigrationState, done: number) => Step[];

/**
 * Applies the pending migrations, after all files were checked.
 * @returns the names of what this run applied
 * @throws AdministrationError that names file, place and what PostgreSQL said, what this run applied and what it did not
 */
export async function applyMigrations(folder: string, open: Open): Promise<string[]> {
  return run(folder, open, stepsUp);
}

export function stepsUp(state: MigrationState): Step[] {
  assertConsistent(state);
  return state.pending.map(({ name }) => ({ name, direction: 'up' }));
}

/** Undoes the last `count` migrations, the last one first. Returns and throws as above. */
export async function undoMigrations(
  folder: string,
  open: Open,
  shown: readonly string[],
): Promise<string[]> {
  return run(folder, open, (state, done) => {
    const steps = stepsDown(shown.length - done)(state);
    if (steps.some(({ name }, at) => name !== shown[at + done]))
      throw new AdministrationError(
        `Another run has applied or undone migrations meanwhile: ${steps[0]?.name} is the last one now. Run the command again.`,
      );
    return steps;
  });
}

export const stepsDown =
  (count: number) =>
  ({ applied }: MigrationState): Step[] =>
    applied
      .slice(Math.max(0, applied.length - count))
      .reverse()
      .map(({ name, file }) => {
        if (!file) throw new AdministrationError(goneSentence(name));
        if (!file.hasWayBack)
          throw new AdministrationError(
            `${name}.sql has no statement below "-- Down Migration". Write a new migration that undoes it.`,
          );
        return { name, direction: 'down' };
      });

async function run(folder: string, open: Open, stepsOf: StepsOf): Promise<string[]> {
  const files = await readMigrations(folder);
  const names: string[] = [];
  for (;;) {
    let left: Step[] = [];
    const client = await open();
    try {
      await beginGuarded(client, `set local lock_timeout = '${RUN_TIMEOUT}'`);
      await client.query(`select pg_advisory_xact_lock(${RUN_LOCK})`).catch((error: unknown) => {
        throw new AdministrationError(
          `Another run of migrations is under way: ${describe(error)}. Wait for its end, and run the command again.`,
        );
      });
      const state = await readState(client, files);
      left = stepsOf(state, names.length);
      const [step] = left;
      if (!step) return names;
      await noteNewNumbers(client, state);
      await forbidCommit(client);
      await runFile(client, folder, step, () => LIMITS);
      await allowCommit(client);
      await commit(client, open, step);
      names.push(step.name);
    } catch (error) {
      const [step] = left;
      if (!step) throw error;
      const done = step.direction === 'up' ? 'applied' : 'undone';
      const isLost = error instanceof CommitLost; // its message says what became of the file
      const others = left.slice(isLost ? 1 : 0).map(({ name }) => name);
      throw new AdministrationError(
        `${error instanceof AdministrationError ? error.message : describe(error)}\nIn this run ${done}: ${names.join(', ') || 'none'}. Not ${done}: ${others.join(', ') || 'none'}.${
          isLost ? '' : ' Correct the file and run the command again.'
        }`,
      );
    } finally {
      await client.end().catch(() => undefined); // this also ends the transaction
    }
  }
}

class CommitLost extends AdministrationError {}

async function commit(client: Client, open: Open, { name }: Step): Promise<void> {
  const { rows } = await client.query<{ id: string }>('select pg_current_xact_id()::text as id');
  try {
    await client.query('commit');
  } catch (error) {
    const { code } = error as DatabaseError;
    // Classes 08 and 57P: the connection or the server has gone
    if (code !== undefined && !/^(08|57P)/.test(code)) throw error;
    const lost = `The connection was lost while ${name} was committed: ${describe(error)}.`;
    const outcome = await outcomeOf(open, rows[0]?.id ?? '');
    if (outcome === 'committed') process.stderr.write(`${lost} It was committed.\n`);
    else if (outcome === 'aborted')
      throw new CommitLost(
        `${lost} It was not committed: nothing of it remains. Run the command again.`,
      );
    else
      throw new CommitLost(
        `${lost} Whether it was committed is not known yet. Ask when the database answers: ${typed('migrate', 'status')}`,
      );
  }
}

/** What became of a transaction, asked in new sessions. */
async function outcomeOf(open: Open, transaction: string): Promise<string | undefined> {
  const end = Date.now() + ASK_MS;
  while (Date.now() < end) {
    const client = await open().catch(() => undefined);
    const result = await client
      ?.query<{ status: string }>('select pg_xact_status($1::xid8) as status', [transaction])
      .catch(() => undefined);
    await client?.end().catch(() => undefined);
    const status = result?.rows[0]?.status;
    if (status === 'committed' || status === 'aborted') return status;
    await pause(ASK_EVERY_MS);
  }
  return undefined;
}
