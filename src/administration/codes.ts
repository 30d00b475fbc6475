// What callers are answered, and the lists in CSV.
import { Argument, Command, Option } from 'commander';
import { stringify } from 'csv-stringify/sync';
import type { EntityManager } from 'typeorm';
import { lockTables } from '../database/database-sessions.js';
import type { Session } from '../database/session.js';
import { RefusedContent } from '../following/followed-topic.js';
import { AREAS, CODE_TABLES, type CodeRows, ORDER_SCHEDULING, readCodes } from '../lookups/code-rows.js';
import { CodeIndex, CodesSnapshot } from '../lookups/codes-snapshot.js';
import { CliError } from './cli/program.js';
import { parseTimeOrDate } from './cli/time.js';
import { readClock, withReading } from './cli/transaction.js';
import { LISTS, listFileColumns, readList } from './csv/csv-lists.js';

const ALL_AREAS = [...AREAS, ORDER_SCHEDULING] as const;
type AnyArea = (typeof ALL_AREAS)[number];

interface ShowOptions {
  readonly at?: string;
  readonly area?: AnyArea;
}

export const show = new Command('show')
  .description('prints the answer of now, or of a later time')
  .option('--at <TIME>', 'such as 2027-01-01T00:00:00Z or 2027-01-01, which begins in UTC', parseTimeOrDate)
  .addOption(new Option('--area <AREA>', 'the answer of one area, as it is').choices(ALL_AREAS))
  .action(async ({ at, area }: ShowOptions) => {
    const timeMs = at === undefined ? undefined : Date.parse(at);
    const snapshot = await withReading((session, manager) => makeSnapshot(session, manager, timeMs));
    process.stdout.write(area ? formatAnswer(snapshot, area) : formatAnswers(snapshot));
  });

/** The answers of now, or of a later time, from what is committed now. */
async function makeSnapshot(
  session: Session,
  manager: EntityManager,
  timeMs: number | undefined,
): Promise<CodesSnapshot> {
  await lockTables(session, CODE_TABLES); // before the first query, which takes the snapshot
  const nowMs = await readClock(session);
  if (timeMs !== undefined && timeMs < nowMs) {
    throw new CliError(
      `--at is past: by the clock of the database it is ${new Date(nowMs).toISOString()}. ` +
        'What was answered before is told by the changes since: select * from change_history order by id;',
    );
  }
  const rows = await readServableCodes(manager);
  return new CodesSnapshot(new CodeIndex(rows), timeMs ?? nowMs);
}

async function readServableCodes(manager: EntityManager): Promise<CodeRows> {
  try {
    return await readCodes(manager);
  } catch (error) {
    if (!(error instanceof RefusedContent)) throw error;
    throw new CliError(
      `What is committed now cannot be served: ${error.message}. ` +
        'Callers get the answers of the content before it, until this is corrected.',
    );
  }
}

function formatAnswers(snapshot: CodesSnapshot): string {
  const parts = ALL_AREAS.map((area) => `${area}\n${formatAnswer(snapshot, area)}\n`);
  return parts.join('\n');
}

function formatAnswer(snapshot: CodesSnapshot, area: AnyArea): string {
  const isScheduling = area === ORDER_SCHEDULING;
  const answer = isScheduling ? snapshot.communicationCodes({}) : snapshot.supportedValues(area);
  return String(answer.body);
}

export const exportList = new Command('export')
  .description('prints CSV (RFC 4180) in the order of the answers, as `migrate new --from` reads it')
  .addArgument(new Argument('<LIST>').choices(Object.keys(LISTS)))
  .action(async (name: keyof typeof LISTS) => {
    const list = LISTS[name];
    const rows = await withReading(async (session) => {
      await lockTables(session, [list]); // before the first query, which takes the snapshot
      return readList(session, list);
    });
    const text = stringify(rows, {
      columns: listFileColumns(list).map((column) => column.name),
      header: true,
      record_delimiter: '\r\n',
    });
    process.stdout.write(text);
  });
