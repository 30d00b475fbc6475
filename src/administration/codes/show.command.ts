import type { EntityManager } from 'typeorm';
import { CodeIndex } from '../../lookups/code-index.js';
import { AREAS, UnservableRows } from '../../lookups/code-rows.js';
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
  summary:
    'prints the answer of now, or of a moment past or future, such as 2027-01-01T00:00:00Z or 2027-01-01',
  options: { at: TEXT, area: TEXT },
  run: async ({ at, area }) => {
    const momentMs = at === undefined ? undefined : Date.parse(momentOf('--at', at));
    const operation = OPERATIONS.find((known) => known === area);
    if (area !== undefined && !operation)
      refuse(`--area is "${area}": ${OPERATIONS.join(', ')} are known.`);
    const snapshot = await readSnapshot(momentMs, at ?? 'now');
    const text = operation ? bodyOf(snapshot, operation) : allBodies(snapshot);
    return { text, exact: true };
  },
});

/** @param shownTime of the command line, for a message */
async function readSnapshot(
  momentMs: number | undefined,
  shownTime: string,
): Promise<CodesSnapshot> {
  try {
    return await withReading((_session, manager) => snapshotAt(manager, momentMs));
  } catch (error) {
    if (!(error instanceof UnservableRows)) throw error;
    return refuse(
      `The content of ${shownTime} could not be served: ${error.message}. ` +
        'Callers got the answers of the content before it.',
    );
  }
}

/** By the clock of the database the moment is past, or what is committed now tells of it. */
async function snapshotAt(
  manager: EntityManager,
  momentMs: number | undefined,
): Promise<CodesSnapshot> {
  await lockTables(manager); // the first query of the transaction
  const [row] = await manager.query<{ now: Date }[]>('select now()');
  const nowMs = Number(row?.now);
  const isPast = momentMs !== undefined && momentMs < nowMs;
  const rows = isPast ? await readPast(manager, momentMs) : await readCodes(manager);
  return new CodesSnapshot(new CodeIndex(rows), momentMs ?? nowMs);
}

function allBodies(snapshot: CodesSnapshot): string {
  const parts = OPERATIONS.map((operation) => `${operation}\n${bodyOf(snapshot, operation)}\n`);
  return parts.join('\n');
}

function bodyOf(snapshot: CodesSnapshot, operation: Operation): string {
  const isScheduling = operation === 'order-scheduling';
  const answer = isScheduling
    ? snapshot.communicationCodes({})
    : snapshot.supportedValues(operation);
  return String(answer.body);
}
