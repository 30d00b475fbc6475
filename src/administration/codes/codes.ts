import { AREAS } from '../../lookups/code-rows.js';
import { CodesSnapshot } from '../../lookups/codes-snapshot.js';
import { lockTables, readCodes } from '../../lookups/read-codes.js';
import { RefusedSnapshot } from '../../snapshots/source.js';
import { beginOfRecord, readPast } from './read-past.js';
import { FLAG, TEXT, command, refuse } from '../frame/command.js';
import { withDatabase } from '../frame/connect.js';
import { parseMoment } from '../frame/time.js';
import { LISTS, type Table, readRows, toCsv } from '../lists/list-tables.js';

const OPERATIONS = [...AREAS, 'order-scheduling'] as const;

export const show = command({
  usage: `[--at TIME] [--area ${OPERATIONS.join('|')}]`,
  summary:
    'prints the answer of now, or of a moment past or future, such as 2027-01-01T00:00:00Z or 2027-01-01',
  options: { at: TEXT, area: TEXT },
  run: async ({ at, area }) => {
    if (at !== undefined && parseMoment(at) === undefined)
      refuse(
        `--at is "${at}", no date-time of RFC 3339 such as 2027-01-01T00:00:00+01:00, nor a date.`,
      );
    const wanted = OPERATIONS.filter((operation) => area === undefined || area === operation);
    if (wanted.length === 0) refuse(`--area is "${area}": ${OPERATIONS.join(', ')} are known.`);
    const snapshot = await snapshotAt(at).catch((error: Error) => {
      if (!(error instanceof RefusedSnapshot)) throw error;
      return refuse(
        `The content of ${at ?? 'now'} could not be served: ${error.message}. Callers got the answers of the content before it.`,
      );
    });
    const texts: string[] = [];
    for (const operation of wanted) {
      const { parts } =
        operation === 'order-scheduling'
          ? await snapshot.communicationCodes({})
          : snapshot.supportedValues(operation);
      const body = parts.join('');
      texts.push(area === undefined ? `${operation}\n${body}\n` : body);
    }
    return { text: texts.join('\n'), exact: true };
  },
});

const snapshotAt = (at?: string): Promise<CodesSnapshot> =>
  withDatabase(async (_session, manager) => {
    await lockTables(manager);
    const [{ now } = { now: 0 }] = await manager.query<{ now: number }[]>(
      'select (extract(epoch from now()) * 1000)::float8 as now',
    );
    const moment = at === undefined ? now : Date.parse(parseMoment(at) ?? '');
    if (moment >= now) return new CodesSnapshot(await readCodes(manager), moment);
    const begin = (await beginOfRecord(manager)) ?? now;
    if (moment < begin)
      refuse(
        `--at is ${at}: the record of changes begins at ${new Date(begin).toISOString()}, and what was answered before is not known.`,
      );
    return new CodesSnapshot(await readPast(manager, moment), moment);
  });

export const exportCommand = command({
  usage: 'communication-codes|code-lists [--excel]',
  operands: [1, 1],
  summary: 'prints CSV in the order of the answers; with --excel as a double click opens it',
  options: { excel: FLAG },
  run: async ({ excel }, [name = '']) => {
    const list = Object.entries<Table>(LISTS).find(([known]) => known === name)?.[1];
    if (!list) refuse(`Which list? ${Object.keys(LISTS).join(' or ')} is needed.`);
    const rows = await withDatabase((client) => readRows(client, list));
    const cells = rows.flatMap((row) =>
      list.columns.map((column) => `${column} ${JSON.stringify(row[column])}`),
    );
    const formulas = cells.filter((cell) => /^\w+ "[=+\-@]/.test(cell));
    if (formulas.length > 0)
      process.stderr.write(
        `A spreadsheet would run cells as formulas, and save what comes out (${formulas.length}): ${formulas.slice(0, 20).join('; ')}. Import these columns as text.\n`,
      );
    return { text: excel ? forExcel(toCsv(list, rows, ';')) : toCsv(list, rows), exact: true };
  },
});

/**
 * Excel expects the separator of its country, unless the first line is `sep=;`. With that line it ignores a byte order mark, so that letters
 * outside ASCII would be wrong, and would be saved so.
 */
function forExcel(text: string): string {
  if (Buffer.byteLength(text) === text.length) return `sep=;\r\n${text}`;
  const note =
    'There are letters outside ASCII, so the file begins with a byte order mark and not with "sep=;". An Excel whose separator is a comma opens it by Data > From Text/CSV.\n';
  process.stderr.write(note);
  return `\ufeff${text}`;
}
