// The command `codes show` prints the answers that callers get. The command `codes export` prints a table as CSV.
import { Argument, Command, Option } from 'commander';
import { stringify } from 'csv-stringify/sync';
import type { EntityManager } from 'typeorm';
import { lockBeforeSnapshot } from '../database/database.js';
import type { Session } from '../database/session.js';
import { AREAS, CODE_TABLES, ORDER_SCHEDULING, assertAreas, readCodes } from '../lookups/code-rows.js';
import { CodeIndex, type CodesSnapshot } from '../lookups/codes-snapshot.js';
import { OperatorError, toMessage } from '../telemetry/error-message.js';
import { readClock, withReading } from './cli/connection.js';
import type { ProgramIo } from './cli/program.js';
import { parseTimeOrDate } from './cli/time.js';
import { CSV_TABLES, listFileColumns, readRows } from './csv/csv-tables.js';

/** The areas in AREAS answer with lists of values, and ORDER_SCHEDULING with communication codes. */
const ALL_AREAS = [...AREAS, ORDER_SCHEDULING] as const;
type AnyArea = (typeof ALL_AREAS)[number];

interface ShowOptions {
  readonly at?: string;
  readonly area?: AnyArea;
}

export function createShow(io: ProgramIo): Command {
  return new Command('show')
    .description('prints the answers that callers get now, or at a later time')
    .option(
      '--at <TIME>',
      'such as 2027-01-01T00:00:00Z, or 2027-01-01 for the beginning of that day in UTC',
      parseTimeOrDate,
    )
    .addOption(new Option('--area <AREA>', 'only the answer of this area, byte for byte').choices(ALL_AREAS))
    .action(async ({ at, area }: ShowOptions) => {
      const timeMs = at === undefined ? undefined : Date.parse(at);
      const snapshot = await withReading((session, manager) => makeSnapshot(session, manager, timeMs), io.env);
      io.stdout.write(area ? formatAnswer(snapshot, area) : formatAnswers(snapshot));
    });
}

async function makeSnapshot(
  session: Session,
  manager: EntityManager,
  timeMs: number | undefined,
): Promise<CodesSnapshot> {
  await lockBeforeSnapshot(session, CODE_TABLES);
  const nowMs = await readClock(session);
  if (timeMs !== undefined && timeMs < nowMs) {
    throw new OperatorError(
      `--at is in the past: by the clock of the database it is ${new Date(nowMs).toISOString()}. ` +
        'To see earlier codes, read the changes: select * from change_history order by id;',
    );
  }
  const rows = await readCodes(manager);
  try {
    assertAreas(rows);
  } catch (error) {
    const consequence = 'Until this is corrected, callers get the former answers, or 503 from a replica that starts.';
    throw new OperatorError(`The committed codes cannot be served: ${toMessage(error)}. ${consequence}`);
  }
  return new CodeIndex(rows).getSnapshot(timeMs ?? nowMs);
}

function formatAnswers(snapshot: CodesSnapshot): string {
  const parts = ALL_AREAS.map((area) => `${area}\n${formatAnswer(snapshot, area)}\n`);
  return parts.join('\n');
}

function formatAnswer(snapshot: CodesSnapshot, area: AnyArea): string {
  const isScheduling = area === ORDER_SCHEDULING;
  const answer = isScheduling ? snapshot.getCommunicationCodes({}) : snapshot.getSupportedValues(area);
  return String(answer.body);
}

export function createExport(io: ProgramIo): Command {
  return new Command('export')
    .description('prints a list in the order of the answers, as the CSV (RFC 4180) that `migrate new --from` reads')
    .addArgument(new Argument('<LIST>').choices(Object.keys(CSV_TABLES)))
    .action(async (name: keyof typeof CSV_TABLES) => {
      const table = CSV_TABLES[name];
      const rows = await withReading(async (session) => {
        await lockBeforeSnapshot(session, [table]);
        return readRows(session, table);
      }, io.env);
      const text = stringify(rows, {
        columns: listFileColumns(table).map((column) => column.name),
        header: true,
        record_delimiter: '\r\n',
      });
      io.stdout.write(text);
    });
}
