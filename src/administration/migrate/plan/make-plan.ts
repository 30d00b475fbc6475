// What callers would see change if files were applied or undone. The files run in a rehearsal, so nothing is changed.
import type { Client } from 'pg';
import type { EntityManager } from 'typeorm';
import type { Session } from '../../../database/session.js';
import { columnOf, withReading } from '../../cli/transaction.js';
import { type MigrationState, assertFiles, readState } from '../migration-state.js';
import { REHEARSAL_LIMITS, rehearse, rehearseFiles } from '../rehearsal.js';
import { runFiles } from '../run-migrations.js';
import type { Change } from './changes/change.js';
import { changesBetween } from './changes/changes-between.js';
import { refusalsAfter } from './refusals.js';
import { type ServiceView, readServiceView } from './service-view.js';
import { warningsOf } from './warnings.js';

/** What `plan --json` prints. Pipelines read its members, so they keep their names; docs/pipeline.md shows some. */
export interface Plan {
  readonly migrations: readonly string[];
  /** Applied, but not among the files. */
  readonly missing: readonly string[];
  readonly changes: readonly Change[];
  /** What the service or callers would be refused, as sentences. */
  readonly refusals: readonly string[];
  /** What is probably not meant, and breaks nothing. */
  readonly warnings: readonly string[];
  readonly canBreakClients: boolean;
}

/** The plan of all files that are pending. */
export async function planUp(): Promise<Plan> {
  await assertFiles();
  const state = await withReading(readState);
  if (state.pending.length === 0) return emptyPlan(state);
  const found = await rehearse(async (session, manager) => {
    const { pending, missing } = await readState(session); // somebody may have applied some
    const views = await viewsAround({ session, manager }, () => rehearseFiles(session));
    return { migrations: pending, missing, views };
  });
  const { migrations, missing, views } = found;
  return { migrations, missing, ...effectsOf(views) };
}

/** @param choose names the files to undo, the first one first */
export async function planDown(choose: (state: MigrationState) => readonly string[]): Promise<Plan> {
  await assertFiles();
  const { state, names, views } = await rehearse(async (session, manager) => {
    const present = await readState(session);
    const chosen = choose(present);
    const around = await viewsAround({ session, manager }, async () => {
      for (const name of chosen) await undo(session, name);
    });
    return { state: present, names: chosen, views: around };
  });
  if (names.length === 0) return emptyPlan(state);
  return { migrations: names, missing: state.missing, ...effectsOf(views) };
}

function undo(session: Session, name: string): Promise<void> {
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
    canBreakClients: false,
  };
}

interface Connection {
  readonly session: Session;
  readonly manager: EntityManager;
}

/** What the service sees before and after files were run. */
interface Views {
  readonly nowMs: number;
  readonly before: ServiceView;
  readonly after: ServiceView;
}

async function viewsAround({ session, manager }: Connection, runAll: () => Promise<void>): Promise<Views> {
  const nowMs = await readClock(session);
  const before = await readServiceView(session, manager);
  await runAll();
  const after = await readServiceView(session, manager);
  return { nowMs, before, after };
}

/** What differs for callers. It is found behind the rehearsal, whose session must not be idle for a second. */
function effectsOf({ nowMs, before, after }: Views) {
  const changes = changesBetween(before.codes, after.codes, nowMs);
  const refusals = refusalsAfter(before, after);
  const warnings = warningsOf(before.codes, after.codes);
  const isBreaking = changes.some(({ breaks }) => breaks !== undefined);
  return { changes, refusals, warnings, canBreakClients: isBreaking || refusals.length > 0 };
}

/** In milliseconds since the epoch. Moments are compared with the database's clock, by which the service goes, too. */
async function readClock(session: Client): Promise<number> {
  const [now] = await columnOf<Date>(session, 'select now()');
  if (now === undefined) throw new Error('the database does not tell the time');
  return now.getTime();
}
