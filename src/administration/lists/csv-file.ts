import { isUtf8 } from 'node:buffer';
import { parse } from 'csv-parse/sync';

/** A fault of a file, with the line on which the record begins. */
export interface Fault {
  readonly line: number;
  readonly message: string;
}

export interface CsvRecord {
  readonly cells: readonly string[];
  readonly line: number;
  readonly lastLine: number;
}

export interface CsvFile {
  /** Undefined for an empty file. */
  readonly header: CsvRecord | undefined;
  readonly records: readonly CsvRecord[];
  readonly faults: readonly Fault[];
}

/**
 * The records of a CSV file (RFC 4180) as spreadsheets write it: with commas or semicolons, with any line ends, with or
 * without a byte order mark. Lines of separators only are empty lines. Behind a wrong quote nobody knows what stands
 * between quotes, so the records end there with a fault.
 */
export function parseCsv(bytes: Uint8Array): CsvFile {
  if (!isUtf8(bytes)) {
    const message = 'the file is not in UTF-8. Save it as "CSV UTF-8".';
    return { header: undefined, records: [], faults: [{ line: 1, message }] };
  }
  // TextDecoder takes the byte order mark off. Lines that somebody appended may end differently from the others
  const text = new TextDecoder().decode(bytes).replaceAll(/\r\n?/g, '\n');
  const all: CsvRecord[] = [];
  const faults: Fault[] = [];
  try {
    parse(text, {
      delimiter: delimiterOf(text),
      relax_column_count: true,
      skip_records_with_empty_values: true,
      // The records before a fault count, too, and the result of `parse` would not have them
      on_record: (cells: string[], { lines: lastLine }) => {
        all.push({ cells, line: lastLine - lineBreaksOf(cells), lastLine });
      },
    });
  } catch {
    const line = nextLine(text, all.at(-1)?.lastLine ?? 0);
    faults.push({
      line,
      message: 'its quotes are wrong. Between quotes, write "" for each quote.',
    });
  }
  const [header, ...records] = all;
  return { header, records, faults };
}

/** Excel separates by semicolons where the comma is the decimal sign. No column has one in its name. */
function delimiterOf(text: string): string {
  const header = text.split('\n').find((line) => line.trim() !== '') ?? '';
  return header.includes(';') ? ';' : ',';
}

function lineBreaksOf(cells: readonly string[]): number {
  return cells.join('').split('\n').length - 1;
}

/** The first line with text behind another line; lines count from 1. */
function nextLine(text: string, line: number): number {
  const lines = text.split('\n');
  const index = lines.findIndex((content, at) => at >= line && content !== '');
  return index + 1;
}
