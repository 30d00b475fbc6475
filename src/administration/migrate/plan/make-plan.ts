// What callers would see change if files were applied or undone. None is: it all happens in a rehearsal.
import type { Client } from 'pg';
import type { EntityManager } from 'typeorm';
import { withReading } from '../../frame/connect.js';
import { type MigrationState, assertFiles, readState } from '../migration-state.js';
import { REHEARSAL_LIMITS, rehearse } from '../rehearsal.js';
import { runFiles } from '../run-migrations.js';
import type { Change } from './changes/change.js';
import { changesBetween } from './changes/changes-between.js';
import { refusalsAfter } from './refusals.js';
import { readServiceView } from './service-view.js';
import { warningsOf } from './warnings.js';
import { WayBack, type WayBackFault } from './way-back.js';

/** What `plan --json` prints. */
export interface Plan {
  readonly migrations: readonly string[];
  /** Applied, but not among the files. */
  readonly missing: readonly string[];
  readonly changes: readonly Change[];
  /** What the service or callers would be refused, as sentences. */
  readonly refusals: readonly string[];
  /** What is probably not meant, and breaks nothing. */
  readonly warnings: readonly string[];
  readonly wayBack: readonly WayBackFault[];
  readonly canBreakClients: boolean;
}

/** The plan of all files that are pending, with the way back of each. */
export async function planUp(): Promise<Plan> {
  await assertFiles();
  const state = await withReading(readState);
  if (state.pending.length === 0) return emptyPlan(state);
  return rehearse(async (session, manager) => {
    const { pending, missing } = await readState(session); // somebody may have applied some
    const wayBack = new WayBack(session);
    const effects = await effectsOf({ session, manager }, async () => {
      for (const name of pending) await wayBack.apply(name);
    });
    return { migrations: pending, missing, ...effects, wayBack: await wayBack.findFaults() };
  });
}

/** @param choose names the files to undo, the first one first */
export async function planDown(
  choose: (state: MigrationState) => readonly string[],
): Promise<Plan> {
  await assertFiles();
  return rehearse(async (session, manager) => {
    const state = await readState(session);
    const names = choose(state);
    if (names.length === 0) return emptyPlan(state);
    const effects = await effectsOf({ session, manager }, async () => {
      for (const name of names) await undo(session, name);
    });
    return { migrations: names, missing: state.missing, ...effects, wayBack: [] };
  });
}

function undo(session: Client, name: string): Promise<void> {
  return runFiles({
    session,
    direction: 'down',
    name,
    isInCallersTransaction: true,
    limits: REHEARSAL_LIMITS,
  });
}

function emptyPlan({ missing }: MigrationState): Plan {
  return {
    migrations: [],
    missing,
    changes: [],
    refusals: [],
    warnings: [],
    wayBack: [],
    canBreakClients: false,
  };
}

interface Connection {
  readonly session: Client;
  readonly manager: EntityManager;
}

/** What differs for callers once `act` has run. */
async function effectsOf({ session, manager }: Connection, act: () => Promise<void>) {
  const now = await readClock(session);
  const before = await readServiceView(session, manager);
  await act();
  const after = await readServiceView(session, manager);
  const changes = changesBetween(before.codes, after.codes, now);
  const refusals = refusalsAfter(before, after);
  const warnings = warningsOf(before.codes, after.codes);
  const isBreaking = changes.some(({ breaks }) => breaks !== undefined);
  return { changes, refusals, warnings, canBreakClients: isBreaking || refusals.length > 0 };
}

/** The service goes by the clock of the database, too. In milliseconds since the epoch. */
async function readClock(session: Client): Promise<number> {
  const { rows } = await session.query<{ now: Date }>('select now()');
  const [row] = rows;
  if (!row) throw new Error('the database does not tell the time');
  return row.now.getTime();
}
