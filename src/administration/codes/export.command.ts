import { AdministrationError, FLAG, command } from '../frame/command.js';
import { withDatabase } from '../frame/connect.js';
import { LISTS, type ListTable, readRows, toCsv } from '../lists/list-tables.js';

/** How many cells that a spreadsheet would run are told. */
const TOLD = 20;
const NO_SEPARATOR =
  'There are letters outside ASCII, so the file begins with a byte order mark and not with "sep=;". An Excel whose separator is a comma opens it by Data > From Text/CSV.\n';

export const exportCommand = command({
  usage: 'communication-codes|code-lists [--excel]',
  summary:
    'prints CSV (RFC 4180) with the columns of the table, in the order of the answers; with --excel as a double click opens it',
  operands: [1, 1],
  options: { excel: FLAG },
  run: async ({ excel }, [name = '']) => {
    const list = Object.entries<ListTable>(LISTS).find(([known]) => known === name)?.[1];
    if (!list)
      throw new AdministrationError(`Which list? ${Object.keys(LISTS).join(' or ')} is needed.`);
    const rows = await withDatabase((client) => readRows(client, list));
    const formulas = rows.flatMap((row) =>
      list.columns
        .filter((column) => /^[=+\-@]/.test(row[column] ?? ''))
        .map(
          (column) => `${column} ${JSON.stringify(row[column])} of ${row[list.columns[0] ?? '']}`,
        ),
    );
    if (formulas.length > 0)
      process.stderr.write(
        `A spreadsheet would run cells as formulas, and save what comes out (${formulas.length}): ${formulas.slice(0, TOLD).join('; ')}. Import these columns as text.\n`,
      );
    return { text: excel ? forExcel(toCsv(list, rows, ';')) : toCsv(list, rows), exact: true };
  },
});

/**
 * Excel expects the separator of its country, unless the first line is `sep=;`. With that line it ignores a byte order mark, and takes the file for
 * the old encoding of its country. So texts of ASCII get the line, which every Excel understands, and others the mark, without which their letters
 * would be wrong, and would be saved so.
 */
function forExcel(text: string): string {
  if (Buffer.byteLength(text) === text.length) return `sep=;\r\n${text}`;
  process.stderr.write(NO_SEPARATOR);
  return `\ufeff${text}`;
}
