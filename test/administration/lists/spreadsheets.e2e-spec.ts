// Files as Excel and LibreOffice write them, with what people do to them.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, expect, it } from '@jest/globals';
import { changesFrom, readListFile } from '../../../src/administration/lists/list-file.js';
import type { Row } from '../../../src/administration/lists/list-tables.js';
import { createDatabase } from '../../support/database.js';
import { testFolder } from '../../support/test-folder.js';

const BYTE_ORDER_MARK = '\ufeff';
const database = await createDatabase();
const client = await database.session();
const folder = testFolder();
afterEach(() => database.query('truncate communication_code'));
afterAll(() => database.drop());

async function rowsOf(text: string): Promise<readonly Row[]> {
  const path = join(folder, 'list.csv');
  writeFileSync(path, text);
  const { after } = await changesFrom(client, await readListFile(path), false);
  return after;
}

/** The message without the name of the file. */
async function refusalOf(text: string): Promise<string> {
  try {
    await rowsOf(text);
  } catch (error) {
    return (error as Error).message.replaceAll(/^.*list\.csv, /gm, '');
  }
  throw new Error('The file was accepted');
}

const row = (code: string, more: Row = {}): Row => ({
  code_type: 'T',
  code,
  description: 'D',
  valid_from: '',
  valid_until: '',
  ...more,
});

it('reads 40 rows of Excel, which leaves out empty last cells after its first block of 16 rows', async () => {
  const lines = Array.from({ length: 40 }, (_, index) => (index < 16 ? `T;C${index};D;;` : `T;C${index};D`));
  const text = ['code_type;code;description;valid_from;valid_until', ...lines, ''].join('\r\n');
  const rows = await rowsOf(BYTE_ORDER_MARK + text);
  expect(rows).toEqual(lines.map((_line, index) => row(`C${index}`)));
});

it('takes a last moment that is left out for none, also where the row had one', async () => {
  await database.query(`insert into communication_code values ('T', 'C', 'D', null, '2030-01-01Z')`);
  expect(await rowsOf('code_type,code,description,valid_from,valid_until\nT,C,D')).toEqual([row('C')]);
});

it.each([
  { what: 'surplus empty cells', text: 'code_type,code,description,,,\r\nT,C,D,,,,,\r\n' },
  {
    what: 'columns in another order',
    text: 'description,valid_until,code,code_type\r\nD,,C,T\r\n',
  },
  { what: 'a cleared column', text: 'code_type,,code,description\r\nT,,C,D\r\n' },
  {
    what: 'lines of separators',
    text: 'code_type,code,description\r\n,,\r\nT,C,D\r\n,,\r\n , ,\r\n',
  },
  {
    what: 'lines of separators before the header',
    text: ';;\r\n\r\ncode_type;code;description\r\nT;C;D',
  },
  { what: 'blanks around the names of columns', text: ' code_type, code ,description \nT,C,D' },
  { what: 'quotes around every cell', text: '"code_type";"code";"description"\r\n"T";"C";"D"\r\n' },
  { what: 'line ends of three kinds', text: 'code_type,code,description\r\nT,C,D\n\r' },
])('reads a file with $what', async ({ text }) => {
  expect(await rowsOf(text)).toEqual([row('C')]);
});

it('reads semicolons, quotes and commas by the header, whatever the cells hold', async () => {
  expect(await rowsOf('code_type;code;description\r\nT;"1;2";"say ""a, b"""\r\n')).toEqual([
    row('1;2', { description: 'say "a, b"' }),
  ]);
  expect(await rowsOf('code_type,code,description\r\nT,1;2,D\r\n')).toEqual([row('1;2')]);
});

it('leaves moments whose column was cleared with its name', async () => {
  await database.query(`insert into communication_code values ('T', 'C', 'D', '2027-01-01Z', '2030-01-01Z')`);
  const text = 'code_type,code,description,,\r\nT,C,New,,\r\n';
  const moments = { valid_from: '2027-01-01T00:00:00Z', valid_until: '2030-01-01T00:00:00Z' };
  expect(await rowsOf(text)).toEqual([row('C', { description: 'New', ...moments })]);
});

it('leaves a number as a spreadsheet wrote it: the plan warns of it', async () => {
  expect(await rowsOf('code_type,code,description\nT,1.23457E+17,D')).toEqual([row('1.23457E+17')]);
});

const HEADER = 'code_type,code,description\r\n';
it.each([
  {
    what: 'a zero width space',
    line: 'T,A\u200bB,D',
    fault: 'line 2: code is "A\\u200bB". Nobody sees or types U+200B in it',
  },
  {
    what: 'a soft hyphen',
    line: 'T,A\u00adB,D',
    fault: 'line 2: code is "A\\u00adB". Nobody sees or types U+00AD in it',
  },
  {
    what: 'a word joiner',
    line: 'T\u2060,A,D',
    fault: 'line 2: code_type is "T\\u2060". Nobody sees or types U+2060 in it',
  },
  {
    what: 'another direction',
    line: 'T,\u202eA,D',
    fault: 'line 2: code is "\\u202eA". Nobody sees or types U+202E in it',
  },
  {
    what: 'a mark inside',
    line: 'T,A\ufeffB,D',
    fault: 'line 2: code is "A\\ufeffB". Nobody sees or types U+FEFF in it',
  },
  {
    what: 'Hangul filler',
    line: 'T,\u3164,D',
    fault: 'line 2: code is "\\u3164". Nobody sees or types U+3164 in it',
  },
  {
    what: 'empty Braille',
    line: 'T,\u2800,D',
    fault: 'line 2: code is "\\u2800". Nobody sees or types U+2800 in it',
  },
  {
    what: 'a no-break space',
    line: 'T,A\u00a0B,D',
    fault: 'line 2: code is "A\\u00a0B". Nobody sees or types U+00A0 in it',
  },
  {
    what: '#NAME?',
    line: 'T,#NAME?,D',
    fault: 'line 2: code is "#NAME?", an error of the spreadsheet',
  },
  {
    what: '#N/A',
    line: 'T,A,#N/A',
    fault: 'line 2: description is "#N/A", an error of the spreadsheet',
  },
  {
    what: '########',
    line: '########,A,D',
    fault: 'line 2: code_type is "########", an error of the spreadsheet',
  },
  {
    what: 'a comma too many',
    line: 'T,A,D,more',
    fault: 'line 2: its field 4 is "more", and that column has no name. Are quotes missing?',
  },
  {
    what: 'a cell over two lines',
    line: 'T,A,"D\r\nE"\r\n',
    fault: 'line 2: description is "D\\nE". 1 to 1024 characters are needed',
  },
])('refuses a file with $what', async ({ line, fault }) => {
  const refusal = await refusalOf(HEADER + line);
  expect(refusal.startsWith(fault)).toBe(true);
  expect(refusal).toMatch(/\nNothing was written\.$/);
});

it('names the line on which a record begins, behind cells with line breaks and empty lines', async () => {
  const text = `${HEADER}\r\nT,A,"1\r\n2\r\n\r\n3"\r\nT,,D\r\n`;
  expect(await refusalOf(text)).toMatch(/^line 3: description is .*\nline 7: code is ""\. .*\nNothing/);
});

it('names every row of a column whose cells were cleared, up to 20', async () => {
  const lines = Array.from({ length: 25 }, (_, index) => `T,C${index},`);
  const faults = (await refusalOf(HEADER + lines.join('\r\n'))).split('\n');
  expect(faults).toHaveLength(22);
  expect(faults[0]).toMatch(/^line 2: description is ""\. 1 to 1024 characters are needed/);
  expect(faults.slice(-2)).toEqual(['… and 5 more', 'Nothing was written.']);
});
