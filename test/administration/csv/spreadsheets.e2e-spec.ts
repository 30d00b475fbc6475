// Reads CSV files as Excel and LibreOffice write them, and as people change them.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { readCsvFile } from '../../../src/administration/csv/csv-file.js';
import { type Row, readRows } from '../../../src/administration/csv/csv-tables.js';
import { compareWithTable } from '../../../src/administration/csv/csv-migration.js';
import { COMMUNICATION_CODE } from '../../../src/database/tables.js';
import { createDatabase } from '../../support/database.js';
import { useTestFolder } from '../../support/test-folder.js';

const BYTE_ORDER_MARK = '\ufeff';
const database = await createDatabase();
const client = await database.session();
const folder = useTestFolder();
afterEach(() => database.query('truncate communication_code'));
afterAll(() => database.drop());

/** Applies the migration of a CSV file. Returns the rows that the table then has. */
async function readRowsAfter(text: string): Promise<readonly Row[]> {
  const path = join(folder, 'list.csv');
  writeFileSync(path, text);
  const isComplete = false; // codes that the file lacks stay
  const { up } = await compareWithTable(client, await readCsvFile(path), isComplete);
  await client.query(up.join('\n'));
  return readRows(client, COMMUNICATION_CODE);
}

/** Returns the message of the refusal, without the name of the file. */
async function findRefusal(text: string): Promise<string> {
  try {
    await readRowsAfter(text);
  } catch (error) {
    return (error as Error).message.replaceAll(/^.*list\.csv, /gm, '');
  }
  throw new Error('The file was accepted');
}

/** Matches a row, also if the table gets further columns. */
const row = (code: string, more: Row = {}): unknown =>
  expect.objectContaining({ code_type: 'T', code, description: 'D', valid_from: '', valid_until: '', ...more });

describe('migrate new --from a file of a spreadsheet', () => {
  it('reads all 40 rows of a file of Excel, which leaves out empty last cells after 16 rows', async () => {
    const firstRowsOfExcel = 16;
    const lines = Array.from({ length: 40 }, (_, index) =>
      index < firstRowsOfExcel ? `T;C${index};D;;` : `T;C${index};D`,
    );
    const text = ['code_type;code;description;valid_from;valid_until', ...lines, ''].join('\r\n');
    const rows = await readRowsAfter(BYTE_ORDER_MARK + text);
    expect(new Set(rows)).toEqual(new Set(lines.map((_line, index) => row(`C${index}`))));
  });

  it('clears valid_until of a code if its row in the file ends before this column', async () => {
    await database.query(`insert into communication_code values ('T', 'C', 'D', null, '2030-01-01Z')`);
    expect(await readRowsAfter('code_type,code,description,valid_from,valid_until\nT,C,D')).toEqual([row('C')]);
  });

  it.each([
    { what: 'surplus empty cells', text: 'code_type,code,description,,,\r\nT,C,D,,,,,\r\n' },
    {
      what: 'columns in another order',
      text: 'description,valid_until,code,code_type\r\nD,,C,T\r\n',
    },
    { what: 'a column whose name and cells were cleared', text: 'code_type,,code,description\r\nT,,C,D\r\n' },
    {
      what: 'lines that contain only separators',
      text: 'code_type,code,description\r\n,,\r\nT,C,D\r\n,,\r\n , ,\r\n',
    },
    {
      what: 'lines of only separators before the header',
      text: ';;\r\n\r\ncode_type;code;description\r\nT;C;D',
    },
    { what: 'spaces around the names of columns', text: ' code_type, code ,description \nT,C,D' },
    { what: 'quotes around every cell', text: '"code_type";"code";"description"\r\n"T";"C";"D"\r\n' },
    { what: 'line ends of three kinds', text: 'code_type,code,description\r\nT,C,D\n\r' },
    { what: 'line ends of old Macintoshes', text: 'code_type,code,description\rT,C,D\r' },
  ])('reads a file with $what', async ({ text }) => {
    expect(await readRowsAfter(text)).toEqual([row('C')]);
  });

  it('takes the separator from the header, also if cells contain the other separator', async () => {
    expect(await readRowsAfter('code_type;code;description\r\nT;"1;2";"say ""a, b"""\r\n')).toEqual([
      row('1;2', { description: 'say "a, b"' }),
    ]);
    expect(await readRowsAfter('code_type,code,description\r\nT,1;2,D\r\n')).toEqual([row('1;2')]);
  });

  it('keeps the times of a code if the header of the file has no names for their columns', async () => {
    await database.query(`insert into communication_code values ('T', 'C', 'D', '2027-01-01Z', '2030-01-01Z')`);
    const text = 'code_type,code,description,,\r\nT,C,New,,\r\n';
    const times = { valid_from: '2027-01-01T00:00:00Z', valid_until: '2030-01-01T00:00:00Z' };
    expect(await readRowsAfter(text)).toEqual([row('C', { description: 'New', ...times })]);
  });

  // `plan` asks whether such a text is meant (test/administration/migrate/plan.e2e-spec.ts)
  it('accepts a text that a spreadsheet has changed', async () => {
    expect(await readRowsAfter('code_type,code,description\nT,1.23457E+17,#NAME?')).toEqual([
      row('1.23457E+17', { description: '#NAME?' }),
    ]);
  });

  it('refuses a row with one comma too many, and names all faults of the file with their lines', async () => {
    // After the header and an empty line, the first of these rows takes the lines 3 to 6
    const rows = ['T,A,"1\r\n2\r\n\r\n3",', 'T,B,D,,more', 'T,C,D,1.1.2027', 'T,C,E,'];
    const text = `code_type,code,description,valid_from\r\n\r\n${rows.join('\r\n')}`;
    expect((await findRefusal(text)).split('\n')).toEqual([
      'line 7: its field 5 is "more", and that column has no name. Are quotes missing?',
      'line 8: valid_from is "1.1.2027". A time such as 2027-01-01T00:00:00Z is needed, or nothing.',
      'line 9: it has the same code_type and code as line 8. Remove one of the two lines.',
      'Nothing was written.',
    ]);
  });

  it('shows the first sixty characters of a cell that it refuses', async () => {
    const text = `code_type,code,description,valid_from\r\nT,A,D,${'x'.repeat(61)}`;
    expect(await findRefusal(text)).toContain(`line 2: valid_from is "${'x'.repeat(60)}". A time such as`);
  });

  it('refuses text in a column whose name was cleared', async () => {
    expect(await findRefusal('code_type,,code,description\r\nT,lost,C,D')).toMatch(/^line 2: its field 2 is "lost"/);
  });
});
