import type { EntityManager } from 'typeorm';
import { CodeIndex } from '../../lookups/code-index.js';
import { AREAS, type CodeRows, UnservableRows } from '../../lookups/code-rows.js';
import { CodesSnapshot } from '../../lookups/codes-snapshot.js';
import { lockTables, readCodes } from '../../lookups/read-codes.js';
import { TEXT, command, refuse } from '../frame/command.js';
import { withReading } from '../frame/connect.js';
import { momentOf } from '../frame/time.js';
import { readPast } from './read-past.js';

const OPERATIONS = [...AREAS, 'order-scheduling'] as const;
type Operation = (typeof OPERATIONS)[number];

export const show = command({
  usage: `[--at TIME] [--area ${OPERATIONS.join('|')}]`,
  summary: 'prints the answer of now, or of a moment past or future, such as 2027-01-01T00:00:00Z or 2027-01-01',
  options: { at: TEXT, area: TEXT },
  run: async ({ at, area }) => {
    const operation = OPERATIONS.find((known) => known === area);
    if (area !== undefined && !operation) {
      refuse(`--area is "${area}": ${OPERATIONS.join(', ')} are known.`);
    }
    const momentMs = at === undefined ? undefined : Date.parse(momentOf('--at', at));
    const snapshot = await withReading((_session, manager) => snapshotAt(manager, momentMs));
    const text = operation ? bodyOf(snapshot, operation) : allBodies(snapshot);
    return { text, exact: true };
  },
});

/**
 * The answers of a moment; without one, of now. By the clock of the database it is past, or what is committed now tells
 * of it.
 *
 * The tables of codes are locked against TRUNCATE, which an older snapshot would take for an empty table. The record of
 * changes is not: where it was emptied meanwhile, it seems to begin now, and the moment is refused.
 */
async function snapshotAt(manager: EntityManager, momentMs: number | undefined): Promise<CodesSnapshot> {
  await lockTables(manager); // before the transaction has its snapshot, which its first query takes
  const nowMs = await readClock(manager);
  const isPast = momentMs !== undefined && momentMs < nowMs;
  const rows = isPast ? await pastRows(manager, momentMs) : await presentRows(manager);
  return new CodesSnapshot(new CodeIndex(rows), momentMs ?? nowMs);
}

async function readClock(manager: EntityManager): Promise<number> {
  const [row] = await manager.query<{ now: Date }[]>('select now()');
  if (!row) throw new Error('the database does not tell the time');
  return row.now.getTime();
}

async function pastRows(manager: EntityManager, momentMs: number): Promise<CodeRows> {
  try {
    return await readPast(manager, momentMs);
  } catch (error) {
    if (!(error instanceof UnservableRows)) throw error;
    const moment = new Date(momentMs).toISOString();
    return refuse(
      `The content of ${moment} could not be served: ${error.message}. ` +
        'Callers got the answers of the content before it.',
    );
  }
}

async function presentRows(manager: EntityManager): Promise<CodeRows> {
  try {
    return await readCodes(manager);
  } catch (error) {
    if (!(error instanceof UnservableRows)) throw error;
    return refuse(
      `What is committed now cannot be served: ${error.message}. ` +
        'Callers get the answers of the content before it, until this is corrected.',
    );
  }
}

function allBodies(snapshot: CodesSnapshot): string {
  const parts = OPERATIONS.map((operation) => `${operation}\n${bodyOf(snapshot, operation)}\n`);
  return parts.join('\n');
}

function bodyOf(snapshot: CodesSnapshot, operation: Operation): string {
  const isScheduling = operation === 'order-scheduling';
  const answer = isScheduling ? snapshot.communicationCodes({}) : snapshot.supportedValues(operation);
  return String(answer.body);
}
