import type { EntityManager } from 'typeorm';
import { CodeIndex } from '../../lookups/code-index.js';
import { AREAS, type CodeRows, UnservableRows } from '../../lookups/code-rows.js';
import { CodesSnapshot } from '../../lookups/codes-snapshot.js';
import { lockTables, readCodes } from '../../lookups/read-codes.js';
import { TEXT, command, refuse } from '../frame/command.js';
import { withReading } from '../frame/connect.js';
import { momentOf } from '../frame/time.js';

const OPERATIONS = [...AREAS, 'order-scheduling'] as const;
type Operation = (typeof OPERATIONS)[number];

export const show = command({
  usage: `[--at TIME] [--area ${OPERATIONS.join('|')}]`,
  summary: 'prints the answer of now, or of a later time, such as 2027-01-01T00:00:00Z or 2027-01-01',
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

/** The answers of now, or of a later time, from what is committed now. */
async function snapshotAt(manager: EntityManager, momentMs: number | undefined): Promise<CodesSnapshot> {
  await lockTables(manager); // before the transaction has its snapshot, to which a TRUNCATE would look like an empty table
  const nowMs = await readClock(manager);
  if (momentMs !== undefined && momentMs < nowMs) {
    refuse(
      `--at is past: by the clock of the database it is ${new Date(nowMs).toISOString()}. ` +
        'What was answered before is told by the changes since: select * from change_history order by id;',
    );
  }
  const rows = await readServableCodes(manager);
  return new CodesSnapshot(new CodeIndex(rows), momentMs ?? nowMs);
}

async function readClock(manager: EntityManager): Promise<number> {
  const [row] = await manager.query<{ now: Date }[]>('select now()');
  if (!row) throw new Error('the database does not tell the time');
  return row.now.getTime();
}

async function readServableCodes(manager: EntityManager): Promise<CodeRows> {
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
