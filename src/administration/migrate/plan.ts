// Finds what callers would see if migrations were applied or undone: reads the codes and keys, tries the migrations in
// a dry run, reads again in the dry run, and compares. One session does all this. describe-plan.ts shows the plan.
import type { EntityManager } from 'typeorm';
import type { DatabaseAddress } from '../../configuration/database-url.js';
import { type Database, lockBeforeSnapshot } from '../../database/database.js';
import type { Session } from '../../database/session.js';
import { type Limits, describeKind } from '../../database/transactions.js';
import { CODE_TABLES, type CodeRows, assertAreas, readCodes } from '../../lookups/code-rows.js';
import { OperatorError, toMessage } from '../../telemetry/error-message.js';
import { readClock, readColumn, withDatabase } from '../cli/connection.js';
import { type Change, NOTICE_MS, findChanges } from './code-changes.js';
import { dryRun, explainDryRunError, hasGivenUp, tryMigrations } from './dry-run.js';
import { type Direction, assertMigrations, readMigration } from './migration-files.js';
import { type MigrationState, readState } from './migration-state.js';
import { markUnusual } from './unusual-codes.js';
import { markEarlyNames, markTimesWithoutZone } from './unusual-migrations.js';

/** The output of `plan --json`. Pipelines read its members (docs/pipeline.md), so do not rename them. */
export interface Plan {
  readonly migrations: readonly string[];
  /** Applied migrations that have no file in `migrations/`. */
  readonly missing: readonly string[];
  readonly changes: readonly Change[];
  /** Sentences about codes or keys that the service could not read, and about keys that callers would lose. */
  readonly refusals: readonly string[];
  /** Sentences about what is probably a mistake, but breaks nothing. */
  readonly marks: readonly string[];
  readonly canBreakClients: boolean;
}

/** Returns the migrations to try, in the order in which they are tried. */
type Choose = (state: MigrationState) => readonly string[];

const NO_CODES: CodeRows = { properties: [], values: [], records: [] };
const EMPTY_PLAN = { migrations: [], changes: [], refusals: [], marks: [], canBreakClients: false };
const REVISION = `select stamp::text from public.revision where topic = 'codes'`;

const KEYS_IN_FORCE = `
  select pg_catalog.concat_ws(' ', id, encode(key_hash, 'hex')) as identity, client,
    extract(epoch from least(expires_at, revoked_at))::float8 as "endsAtSeconds"
  from public.api_key
  where coalesce(least(expires_at, revoked_at), 'infinity') > now()`;

/** A key with which the service accepts calls now. */
interface KeyInForce {
  /** The id and the hash. A key with another hash is another key. */
  readonly identity: string;
  readonly client: string;
  /** Null if the key has no end. */
  readonly endsAtSeconds: number | null;
}

/** The result of a reading that may fail, for example because a migration removes the table. */
type Attempt<T> = { readonly value: T } | { readonly fault: string };

/** The codes that callers would get, and the keys with which the service would accept calls. */
interface Seen {
  readonly codes: Attempt<CodeRows>;
  readonly keys: Attempt<readonly KeyInForce[]>;
}

interface Committed extends Seen {
  readonly nowMs: number;
  readonly state: MigrationState;
  readonly revision: Attempt<string[]>;
}

export function planUp(address: DatabaseAddress, limits?: Partial<Limits>): Promise<Plan> {
  return withDatabase((database) => makePlan(database, 'up', ({ pending }) => pending, limits), address);
}

export function planDown(database: Database, choose: Choose): Promise<Plan> {
  return makePlan(database, 'down', choose);
}

async function makePlan(
  database: Database,
  direction: Direction,
  choose: Choose,
  limits: Partial<Limits> = {},
): Promise<Plan> {
  await assertMigrations();
  const before = await readCommitted(database, limits);
  const migrations = choose(before.state);
  if (migrations.length === 0) return { ...EMPTY_PLAN, missing: before.state.missing };
  const tried = await dryRun(
    database,
    async (session, manager) => {
      await tryMigrations(session, migrations, direction, limits);
      return { ...(await readSeen(session, manager)), nowMs: await readClock(session) };
    },
    limits,
  );
  const after = await readCommitted(database, limits);
  if (JSON.stringify(before.revision) !== JSON.stringify(after.revision)) {
    throw new OperatorError('Somebody else changed codes while the migrations were tried. Run the command again.');
  }
  const plan = compare(migrations, before, tried, after);
  if (direction === 'down') return plan;
  return { ...plan, marks: [...(await markMigrations(migrations, before, tried)), ...plan.marks] };
}

/** Reads with the limits of a dry run, so that the plan does not wait long for a lock of another session. */
async function readCommitted(database: Database, limits: Partial<Limits>): Promise<Committed> {
  const { statementMs, lockMs, totalMs } = describeKind('dryRun', limits);
  try {
    return await database.within(
      'read',
      async (session, manager) => ({
        // DANGER: keep `readSeen` first, and read no code table after it. It locks the tables before the snapshot, and its
        // rollback releases the locks. If another session then truncates a table, the snapshot sees it empty
        ...(await readSeen(session, manager)),
        nowMs: await readClock(session),
        revision: await attempt(session, () => readColumn(session, REVISION)),
        state: await readState(session),
      }),
      { statementMs, lockMs, totalMs },
    );
  } catch (error) {
    throw explainDryRunError(error);
  }
}

/** Reads the codes with the service's own functions, so the reading fails if the service would fail. */
async function readSeen(session: Session, manager: EntityManager): Promise<Seen> {
  const codes = await attempt(session, async () => {
    await lockBeforeSnapshot(session, CODE_TABLES);
    const rows = await readCodes(manager);
    assertAreas(rows);
    return rows;
  });
  const keys = await attempt(session, async () => {
    const { rows } = await session.query<KeyInForce>(KEYS_IN_FORCE);
    return rows;
  });
  return { codes, keys };
}

/**
 * Always rolls `read` back, so that a failed query does not end the transaction, and no lock stays. What `read` writes
 * would be lost.
 */
async function attempt<T>(session: Session, read: () => Promise<T>): Promise<Attempt<T>> {
  await session.query('savepoint attempt');
  try {
    return { value: await read() };
  } catch (error) {
    if (hasGivenUp(error)) throw error; // a lock or a time limit is no fault of the content
    return { fault: toMessage(error) };
  } finally {
    await session.query('rollback to savepoint attempt'); // if the connection is lost, this throws, so the plan fails
  }
}

/** If the new codes cannot be read, reports no code as removed: running replicas go on serving the former codes. */
function compare(
  migrations: readonly string[],
  before: Committed,
  tried: Seen & { readonly nowMs: number },
  after: Committed,
): Plan {
  const { missing, applied } = before.state;
  const isNewDatabase = applied.length === 0 && 'fault' in before.codes; // callers have nothing that they could lose
  const former = isNewDatabase ? { value: NO_CODES } : before.codes;
  const refusals = [...describeUnread(former), ...describeFaults(tried), ...describeLostKeys(before, tried, after)];
  const areBothRead = 'value' in former && 'value' in tried.codes;
  const changes = areBothRead ? findChanges(former.value, tried.codes.value, tried.nowMs) : [];
  const marks = areBothRead ? markUnusual(former.value, tried.codes.value) : [];
  const canBreakClients = refusals.length > 0 || changes.some(({ breaks }) => breaks !== undefined);
  return { migrations, missing, changes, refusals, marks, canBreakClients };
}

async function markMigrations(migrations: readonly string[], before: Committed, tried: Seen): Promise<string[]> {
  const marks = markEarlyNames(migrations, before.state.applied);
  if ('fault' in before.codes || 'fault' in tried.codes) return marks;
  const files = await Promise.all(migrations.map((name) => readMigration(name)));
  return [...marks, ...markTimesWithoutZone(files, before.codes.value, tried.codes.value)];
}

function describeUnread(former: Attempt<CodeRows>): string[] {
  if ('value' in former) return [];
  return [`the present codes cannot be read (${former.fault}), so the plan cannot show what callers lose`];
}

function describeFaults({ codes, keys }: Seen): string[] {
  const sentences: string[] = [];
  if ('fault' in codes) sentences.push(`the service would not serve the codes: ${codes.fault}`);
  if ('fault' in keys) sentences.push(`callers will be refused: the service could not read its keys: ${keys.fault}`);
  return sentences;
}

/**
 * Names the clients whose keys the migrations revoke, delete or change, or make end earlier. A key that still ends 30
 * days from now (NOTICE_MS) is not named, and no key that somebody else has revoked meanwhile.
 */
function describeLostKeys(before: Committed, tried: Seen, after: Committed): string[] {
  if ('fault' in before.keys || 'fault' in tried.keys) return [];
  const triedEnds = mapEnds(tried.keys.value);
  const committedEnds = mapEnds('value' in after.keys ? after.keys.value : before.keys.value);
  const noticeEndMs = before.nowMs + NOTICE_MS;
  const lost = before.keys.value.filter((key) => {
    const { identity } = key;
    const expectedEndMs = Math.min(toEndMs(key), committedEnds.get(identity) ?? -Infinity, noticeEndMs);
    return (triedEnds.get(identity) ?? -Infinity) < expectedEndMs;
  });
  if (lost.length === 0) return [];
  const clients = [...new Set(lost.map(({ client }) => client))].sort();
  return [`callers will be refused: keys of ${clients.join(', ')}`];
}

function mapEnds(keys: readonly KeyInForce[]): Map<string, number> {
  return new Map(keys.map((key) => [key.identity, toEndMs(key)]));
}

function toEndMs({ endsAtSeconds }: KeyInForce): number {
  return endsAtSeconds === null ? Infinity : endsAtSeconds * 1000;
}
