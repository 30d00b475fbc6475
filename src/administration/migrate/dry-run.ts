// Migrations in one transaction that is rolled back, and what callers would see of them. The statements are those that
// `up` and `down` run, without the row of `pgmigrations`: so no table is locked that no migration touches, and a key can
// be revoked meanwhile.
import { type Client, DatabaseError } from 'pg';
import type { EntityManager } from 'typeorm';
import type { DatabaseAddress } from '../../configuration/database-url.js';
import type { Session } from '../../database/session.js';
import { type CodeRows, readCodes } from '../../lookups/code-rows.js';
import { toMessage } from '../../telemetry/error-message.js';
import { CliError } from '../cli/program.js';
import { LostConnection } from '../cli/session-end.js';
import { type Work, readClock, readColumn, withReading, withRollback } from '../cli/transaction.js';
import { type Change, NOTICE_DAYS, findChanges } from './code-changes.js';
import { InterruptedMigration, MigrationFault, type Script, explainFault } from './migration-fault.js';
import { type Direction, assertMigrations, readMigration } from './migration-files.js';
import { type MigrationState, readState } from './migration-state.js';
import { toScript, toStatements } from './run-migrations.js';
import { markUnusual } from './unusual-codes.js';

/** What `plan --json` prints. Pipelines read its members, so they keep their names; docs/pipeline.md shows some. */
export interface Plan {
  readonly migrations: readonly string[];
  /** Applied, but not in the tree. */
  readonly missing: readonly string[];
  readonly changes: readonly Change[];
  /** What the service or callers would be refused, as sentences. */
  readonly refusals: readonly string[];
  /** What is probably not meant, and breaks nothing, as sentences. */
  readonly marks: readonly string[];
  readonly canBreakClients: boolean;
}

/** Tests put a longer time here: test/support/project-copy.ts finds it by its name. */
const LIMIT_SECONDS = 20;
/** With the limit of statements the server ends a statement also where it cannot notice that its client is gone. */
const LIMITS = [`set local lock_timeout = '3s'`, `set local statement_timeout = '${LIMIT_SECONDS}s'`];
/** SQLSTATE unsafe_new_enum_value_usage: a new value of an enum is used before it is committed. */
const ENUM_VALUE_TOO_NEW = '55P04';
/** SQLSTATEs of LIMITS and of a deadlock: the cause is others or the time, and not a statement. */
const GAVE_UP = ['55P03', '57014', '40P01'];

const NO_CODES: CodeRows = { properties: [], values: [], records: [] };
const REVISION = `select stamp::text from public.revision where topic = 'codes'`;

/** The keys that are in force now, and those that are after the notice that codes have: a key may stand here twice. */
const KEYS_IN_FORCE = `
  select pg_catalog.concat_ws(' ', id, encode(key_hash, 'hex'), days) as identity, client
  from public.api_key, pg_catalog.unnest(array[0, ${NOTICE_DAYS}]) as days
  where coalesce(least(expires_at, revoked_at) > now() + make_interval(days => days), true)`;

const UNREAD = 'what callers have now cannot be read, so what goes is not shown';

interface KeyInForce {
  /** What tells the key at one of the two times from all others. */
  readonly identity: string;
  readonly client: string;
}

/** What the service reads. */
interface Content {
  /** Undefined where the service would not serve them. */
  readonly codes: CodeRows | undefined;
  readonly keys: readonly KeyInForce[];
  /** Why the service would not serve something, or refuse callers. */
  readonly refusals: readonly string[];
}

/** The plan of all migrations that are pending. */
export function planUp(): Promise<Plan> {
  return plan('up', ({ pending }) => pending);
}

/** @param choose names the migrations to undo, the first one first */
export function planDown(choose: (state: MigrationState) => readonly string[]): Promise<Plan> {
  return plan('down', choose);
}

async function plan(direction: Direction, choose: (state: MigrationState) => readonly string[]): Promise<Plan> {
  await assertMigrations();
  const start = await withReading(async (session) => ({
    state: await readState(session),
    revision: await readInSavepoint(session, () => readColumn(session, REVISION)),
  }));
  const { missing } = start.state;
  const migrations = choose(start.state);
  if (migrations.length === 0) {
    return { migrations, missing, changes: [], refusals: [], marks: [], canBreakClients: false };
  }
  const { nowMs, before, after } = await dryRun(async (session, manager) => {
    const content = await readContent(session, manager);
    for (const name of migrations) await runScript(session, toScript(await readMigration(name), direction));
    return { nowMs: await readClock(session), before: content, after: await readContent(session, manager) };
  });
  const lostKeys = selectLost(before.keys, after.keys);
  const end = await withReading(async (session) => ({
    revision: await readInSavepoint(session, () => readColumn(session, REVISION)),
    keys: lostKeys.length === 0 ? [] : (await session.query<KeyInForce>(KEYS_IN_FORCE)).rows,
  }));
  if (JSON.stringify(end.revision) !== JSON.stringify(start.revision)) {
    throw new CliError('Others changed codes while the migrations were tried. Run the command again.');
  }
  // A key that is not in force without the migrations either was revoked by somebody else meanwhile
  const refusedKeys = lostKeys.filter(({ identity }) => end.keys.some((key) => key.identity === identity));
  const isEmpty = start.state.applied.length === 0; // then nothing could go
  const former = before.codes ?? (isEmpty ? NO_CODES : undefined);
  const { changes, marks } = compareCodes(former, after.codes, nowMs);
  const unread = isEmpty ? [] : before.refusals.map((refusal) => `${UNREAD} (${refusal})`);
  const refusals = [...unread, ...after.refusals, ...describeLostKeys(refusedKeys)];
  const canBreakClients = refusals.length > 0 || changes.some(({ breaks }) => breaks !== undefined);
  return { migrations, missing, changes, refusals, marks, canBreakClients };
}

/**
 * Codes that cannot be read are not compared: a refusal tells of them, and running replicas go on serving what they
 * have.
 */
function compareCodes(
  former: CodeRows | undefined,
  present: CodeRows | undefined,
  nowMs: number,
): Pick<Plan, 'changes' | 'marks'> {
  if (!former || !present) return { changes: [], marks: [] };
  return { changes: findChanges(former, present, nowMs), marks: markUnusual(former, present) };
}

/**
 * Works in a transaction that may write, and is rolled back. It waits three seconds for a lock, and a timer ends it after
 * twenty seconds, whatever it does and whatever version the server has.
 */
export async function dryRun<T>(work: Work<T>, address: DatabaseAddress = process.env): Promise<T> {
  let isTooLong = false;
  try {
    return await withRollback(async (session, manager) => {
      const timer = setTimeout(() => {
        isTooLong = true;
        void session.end(); // the server rolls back
      }, LIMIT_SECONDS * 1_000);
      try {
        await session.query(LIMITS.join('; '));
        return await work(session, manager);
      } finally {
        clearTimeout(timer);
      }
    }, address);
  } catch (error) {
    throw isTooLong ? describeNoEnd(`it took longer than ${LIMIT_SECONDS} s`) : explain(error);
  }
}

/** Runs the migrations that are pending, so that work sees the database as it will be. */
export function dryRunPending<T>(work: Work<T>): Promise<T> {
  return dryRun(async (session, manager) => {
    const { pending } = await readState(session);
    for (const name of pending) await runScript(session, toScript(await readMigration(name), 'up'));
    return work(session, manager);
  });
}

/** @throws CliError with the line of the script where PostgreSQL names one */
export async function runScript(session: Session, script: Script): Promise<void> {
  try {
    for (const statement of toStatements(script, session, LIMITS)) await session.query(statement);
  } catch (error) {
    throw explainFault(error, script);
  }
}

/** By the service's own readers. So content that it would refuse, or a table that is gone, shows here as it would there. */
async function readContent(session: Client, manager: EntityManager): Promise<Content> {
  const codes = await readInSavepoint(session, () => readCodes(manager));
  const keys = await readInSavepoint(session, async () => (await session.query<KeyInForce>(KEYS_IN_FORCE)).rows);
  const refusals: string[] = [];
  if ('fault' in codes) refusals.push(`the service would not serve the codes: ${codes.fault}`);
  if ('fault' in keys) refusals.push(`callers will be refused: the service could not read its keys: ${keys.fault}`);
  return { codes: 'fault' in codes ? undefined : codes.value, keys: 'fault' in keys ? [] : keys.value, refusals };
}

/** Reads. A read that fails leaves the transaction as it was; a write would vanish in any case. */
async function readInSavepoint<T>(session: Client, read: () => Promise<T>): Promise<{ value: T } | { fault: string }> {
  await session.query('savepoint attempt');
  try {
    return { value: await read() };
  } catch (error) {
    return { fault: toMessage(error) };
  } finally {
    await session.query('rollback to savepoint attempt'); // fails where the connection was lost, which then is no fault
  }
}

/** Keys that are revoked, deleted or have another hash, and those whose end was brought forward to within 30 days. */
function selectLost(before: readonly KeyInForce[], after: readonly KeyInForce[]): KeyInForce[] {
  const present = new Set(after.map(({ identity }) => identity));
  return before.filter(({ identity }) => !present.has(identity));
}

function describeLostKeys(keys: readonly KeyInForce[]): string[] {
  if (keys.length === 0) return [];
  const clients = [...new Set(keys.map(({ client }) => client))].sort();
  return [`callers will be refused: keys of ${clients.join(', ')}`];
}

/** Faults of migrations, of the input and of the program are those errors themselves. */
function explain(error: unknown): unknown {
  if (error instanceof MigrationFault && error.code === ENUM_VALUE_TOO_NEW) {
    return new CliError(`It cannot be told what callers would see: ${error.message}`);
  }
  if (error instanceof InterruptedMigration || error instanceof LostConnection) return describeNoEnd(error.reason);
  const isOfPostgres = error instanceof MigrationFault || error instanceof DatabaseError;
  const hasGivenUp = isOfPostgres && GAVE_UP.includes(error.code ?? '');
  return hasGivenUp ? describeNoEnd(toMessage(error)) : error;
}

function describeNoEnd(reason: string): CliError {
  return new CliError(
    `The dry run came to no end, and nothing was changed: ${reason}. ` +
      'If others write meanwhile, choose a quieter time, or a copy of the database.',
  );
}
