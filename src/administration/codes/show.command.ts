import { Command, Option } from 'commander';
import type { EntityManager } from 'typeorm';
import { CodeIndex } from '../../lookups/code-index.js';
import { AREAS, type CodeRows, UnservableRows } from '../../lookups/code-rows.js';
import { CodesSnapshot } from '../../lookups/codes-snapshot.js';
import { lockTables, readCodes } from '../../lookups/read-codes.js';
import { CliError } from '../cli/program.js';
import { parseMoment } from '../cli/time.js';
import { withReading } from '../cli/transaction.js';

const OPERATIONS = [...AREAS, 'order-scheduling'] as const;
type Operation = (typeof OPERATIONS)[number];

export const show = new Command('show')
  .description('prints the answer of now, or of a later time')
  .option('--at <TIME>', 'such as 2027-01-01T00:00:00Z or 2027-01-01', (text) => parseMoment('--at', text))
  .addOption(new Option('--area <AREA>', 'the answer of one area, as it is').choices(OPERATIONS))
  .action(async ({ at, area }: { at?: string; area?: Operation }) => {
    const timeMs = at === undefined ? undefined : Date.parse(at);
    const snapshot = await withReading((_session, manager) => snapshotAt(manager, timeMs));
    process.stdout.write(area ? bodyOf(snapshot, area) : allBodies(snapshot));
  });

/** The answers of now, or of a later time, from what is committed now. */
async function snapshotAt(manager: EntityManager, timeMs: number | undefined): Promise<CodesSnapshot> {
  await lockTables(manager); // before the transaction has its snapshot, to which a TRUNCATE would look like an empty table
  const nowMs = await readClock(manager);
  if (timeMs !== undefined && timeMs < nowMs) {
    throw new CliError(
      `--at is past: by the clock of the database it is ${new Date(nowMs).toISOString()}. ` +
        'What was answered before is told by the changes since: select * from change_history order by id;',
    );
  }
  const rows = await readServableCodes(manager);
  return new CodesSnapshot(new CodeIndex(rows), timeMs ?? nowMs);
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
    throw new CliError(
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
