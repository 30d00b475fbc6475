import { AdministrationError, command } from '../frame/command.js';
import { withDatabase } from '../frame/connect.js';
import { LISTS, type ListTable, type Row, readRows, toCsv } from '../lists/list-tables.js';

/** How many cells that a spreadsheet would run are told. */
const TOLD = 20;

export const exportCommand = command({
  usage: 'communication-codes|code-lists [--excel]',
  summary:
    'prints CSV (RFC 4180) with the columns of the table, in the order of the answers; with --excel as a double click opens it',
  operands: [1, 1],
  options: { excel: { type: 'boolean' } },
  run: async ({ excel }, [name = '']) => {
    if (!Object.hasOwn(LISTS, name))
      throw new AdministrationError(
        `"${name}" cannot be exported: ${Object.keys(LISTS).join(' or ')} is needed.`,
      );
    const list: ListTable = LISTS[name as keyof typeof LISTS];
    const rows = await withDatabase((client) => readRows(client, list));
    tellFormulas(list, rows);
    return { text: excel ? forExcel(list, rows) : toCsv(list, rows), exact: true };
  },
});

/**
 * Excel expects the separator of its country, unless the first line is `sep=;`. With that line it ignores a byte order mark, and takes the file for
 * the old encoding of its country. So texts of ASCII get the line, which every Excel understands, and others the mark, without which their letters
 * would be wrong, and would be saved so.
 */
function forExcel(list: ListTable, rows: readonly Row[]): string {
  const text = toCsv(list, rows, ';');
  if (Buffer.byteLength(text) === text.length) return `sep=;\r\n${text}`;
  process.stderr.write(
    'There are letters outside ASCII, so the file begins with a byte order mark and not with "sep=;". An Excel whose separator is a comma opens it by Data > From Text/CSV.\n',
  );
  return `\ufeff${text}`;
}

function tellFormulas({ columns, key }: ListTable, rows: readonly Row[]): void {
  const told = rows.flatMap((row) =>
    columns
      .filter((name) => /^[=+\-@]/.test(row[name] ?? ''))
      .map((name) => `${name} ${JSON.stringify(row[name])} of ${row[key[0] ?? '']}`),
  );
  if (told.length > 0)
    process.stderr.write(
      `A spreadsheet would run cells as formulas, and save what comes out (${told.length}): ${told.slice(0, TOLD).join('; ')}. Import these columns as text.\n`,
    );
}
