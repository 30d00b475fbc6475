import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import * as fc from 'fast-check';
import { readCsvFile } from '../../../src/administration/csv/csv-file.js';
import { readRows } from '../../../src/administration/csv/csv-tables.js';
import { compareWithTable } from '../../../src/administration/csv/csv-migration.js';
import { CODE_LIST_VALUE, COMMUNICATION_CODE, type Table } from '../../../src/database/tables.js';
import type { Outcome } from '../../support/program.js';
import { MIGRATION_NAMES, useProgramCopy } from '../../support/project-copy.js';
import { until } from '../../support/until.js';

const CODES_HEADER = 'code_type,code,description,valid_from,valid_until';
const VALUES_HEADER = 'code_list,value,valid_from,valid_until';
/** The line ends that the commands write. */
const WINDOWS_LINE_ENDS = { record_delimiter: 'windows' };
const { copy, database } = await useProgramCopy();
const client = await database.session();
afterEach(() => database.query('truncate communication_code'));

/** Writes list.csv, and returns its path. */
function writeCsvFile(text: string | Uint8Array): string {
  const path = join(copy.folder, 'list.csv');
  writeFileSync(path, text);
  return path;
}

function exportList(list: string): Promise<Outcome> {
  return copy.run('codes', 'export', list);
}

function findNewMigrations(): string[] {
  const files = readdirSync(copy.migrations);
  return files.filter((name) => !MIGRATION_NAMES.includes(name.replace('.sql', '')));
}

/** Returns the statements that `migrate new --from` would write for a CSV file, without starting the program. */
async function makeStatements(text: string | Uint8Array, isComplete = false) {
  const { up, down } = await compareWithTable(client, await readCsvFile(writeCsvFile(text)), isComplete);
  return { up: up.join('\n'), down: down.join('\n') };
}

/** Returns the faults of a file, without its path. */
async function findFaults(text: string | Uint8Array): Promise<string[]> {
  const lines = (await findRefusal(text)).split('\n');
  expect(lines.pop()).toBe('Nothing was written.');
  return lines.map((line) => line.replace(/^.*list\.csv, /, ''));
}

async function findRefusal(text: string | Uint8Array): Promise<string> {
  try {
    await makeStatements(text);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('The file was accepted');
}

describe('codes export', () => {
  it('prints the rows as CSV by RFC 4180, in the order in which the service answers', async () => {
    await database.query(
      `insert into communication_code values
         ('T', 'a,"b"', 'é; x', '2027-01-01T00:00Z', '2027-01-01T00:00:00.5Z'),
         ('T', '-1', '=cmd|A1', null, null), ('T', '2', 'a = b', null, null)`,
    );
    const lines = [
      CODES_HEADER,
      'T,-1,=cmd|A1,,',
      'T,2,a = b,,',
      'T,"a,""b""",é; x,2027-01-01T00:00:00Z,2027-01-01T00:00:00.5Z',
      '',
    ];
    expect(await exportList('communication-codes')).toEqual({
      status: 0,
      stdout: lines.join('\r\n'),
      stderr: '',
    });
    const { stdout } = await exportList('code-lists');
    expect(stdout).toMatch(
      /\r\ncommentType,General,,\r\ncommentType,BOL,,\r\n[^]*\r\nequipmentType,DryVan,,\r\n[^]*\r\n$/,
    );
  });

  it('prints no API keys', async () => {
    expect(await exportList('keys')).toMatchObject({ status: 1, stdout: '' });
  });

  it('waits for a lock of its table, so that a table that is being replaced is not printed as empty', async () => {
    await client.query(
      `begin; truncate communication_code; insert into communication_code values ('T', 'loaded', 'D')`,
    );
    const exporting = exportList('communication-codes');
    await until(async () => (await database.countWaiting('communication_code')) > 0, { during: exporting });
    await client.query('commit');
    expect((await exporting).stdout).toMatch(/^code_type,.*\r\nT,loaded,D,.*\r\n$/);
  });

  it('prints a file with which migrate new finds nothing to change', async () => {
    await database.query(`insert into communication_code values ('T', '1,2', 'é')`);
    const path = writeCsvFile((await exportList('communication-codes')).stdout);
    expect(await copy.run('migrate', 'new', 'same', '--from', path, '--complete')).toEqual({
      status: 0,
      stdout: `The database already contains what ${path} says, or pending migrations add it. Nothing was written.\n`,
      stderr: '',
    });
    expect(findNewMigrations()).toEqual([]);
  });
});

describe('migrate new --from', () => {
  it.each([
    {
      what: 'a space at the end of a code',
      text: `${CODES_HEADER}\nA,"B ",c,,`,
      constraint: 'communication_code_is_clean_text_of_256_characters',
    },
    {
      what: 'a code that is too long',
      text: `${CODES_HEADER}\nA,${'x'.repeat(257)},c,,`,
      constraint: 'communication_code_is_clean_text_of_256_characters',
    },
    {
      what: 'a line break in a description',
      text: `${CODES_HEADER}\nA,B,"c\nd",,`,
      constraint: 'communication_code_description_is_clean_text_of_1024_characters',
    },
    {
      what: 'an end before its beginning',
      text: `${CODES_HEADER}\nA,B,c,2027-01-01T00:00:00.000002Z,2027-01-01T00:00:00.000001Z`,
      constraint: 'communication_code_ends_after_it_begins',
    },
    {
      what: 'an invisible character',
      text: `${CODES_HEADER}\nA,B\u200bC,c,,`,
      constraint: 'communication_code_has_no_invisible_characters',
    },
    {
      what: 'a list that does not exist',
      text: `${VALUES_HEADER}\norderTypo,A,,`,
      constraint: 'code_list_value_names_a_list',
    },
  ])('names the constraint that refuses $what, and writes nothing', async ({ text, constraint }) => {
    const path = writeCsvFile(text);
    const { status, stdout, stderr } = await copy.run('migrate', 'new', 'bad', '--from', path);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr.split(': ')[0]).toBe(`SQL of ${path}`);
    expect(stderr).toContain(`"${constraint}"\n  `);
    expect(stderr).toMatch(/\nNothing was written\.\n$/);
    expect(stderr).not.toContain('\u200b');
    expect(findNewMigrations()).toEqual([]);
  });

  it('inserts a value into a list, keeps values that the file lacks, and `down` restores the list', async () => {
    const before = (await exportList('code-lists')).stdout;
    const lackingCount = linesOf(before).length - 3; // without the header, and the file's values Standard and Return
    const path = writeCsvFile(
      `${VALUES_HEADER}\norderType,Standard,,\r\norderType,Transfer,2027-01-01T00:00:00+01:00,\norderType,Return,,\r\n`,
    );
    expect(await copy.run('migrate', 'new', 'insert_transfer', '--from', path)).toEqual({
      status: 0,
      stdout: expect.stringMatching(
        new RegExp(
          String.raw`^created .*\nRows of the table that the file lacks: ${lackingCount}\. They stay; --complete .*\.\n$`,
        ),
      ),
      stderr: '',
    });
    expect(await copy.run('migrate', 'up')).toMatchObject({ status: 0, stderr: '' });
    const after = (await exportList('code-lists')).stdout;
    expect(after).toBe(
      before.replace(
        'orderType,Standard,,\r\n',
        'orderType,Standard,,\r\norderType,Transfer,2026-12-31T23:00:00Z,\r\n',
      ),
    );
    expect(await copy.run('migrate', 'down', '--yes')).toMatchObject({ status: 0, stderr: '' });
    expect((await exportList('code-lists')).stdout).toBe(before);
  });

  it('finds nothing to change if the file has the time of a row in another zone', async () => {
    await database.query(`insert into communication_code values ('T', 'A', 'x', '2027-01-01T00:00Z')`);
    const inOtherZone = `${CODES_HEADER}\nT,A,x,2027-01-01T01:00:00+01:00,`;
    expect(await makeStatements(inOtherZone)).toEqual({ up: '', down: '' });
  });

  it('keeps a code that looks like a time as it is', async () => {
    const { up } = await makeStatements(`${CODES_HEADER}\nT,2027-01-01T01:00:00+01:00,x,,`);
    expect(up).toContain(`('T', '2027-01-01T01:00:00+01:00', 'x'`);
  });

  it('with --complete says how many rows an empty file deletes', async () => {
    await database.query(`insert into communication_code values ('T', 'A', 'x'), ('T', 'B', 'y')`);
    const { stdout } = await copy.run('migrate', 'new', 'empty', '--from', writeCsvFile(CODES_HEADER), '--complete');
    expect(stdout).toMatch(/^created .*\nRows of the table that the file lacks: 2\. The migration deletes them\.\n$/);
  });

  it('writes nothing if rows are faulty, and names twenty faults, each with the first line of its row', async () => {
    const pairsWithThreeFaults = Array.from(
      { length: 15 },
      (_, index) => `A,B${index},"a\r\n\nb",x,\r\nA,C${index},d,x,y\r\n`,
    );
    const path = writeCsvFile(`${CODES_HEADER}\r\n\r\n${pairsWithThreeFaults.join('')}`);
    const { status, stdout, stderr } = await copy.run('migrate', 'new', 'bad', '--from', path);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/\n… and 25 more\nNothing was written\.\n$/);
    const faults = stderr.match(/line \d+: \w+/g) ?? [];
    expect(faults).toHaveLength(20);
    expect(faults.slice(0, 4).join()).toBe(
      'line 3: valid_from,line 6: valid_from,line 6: valid_until,line 7: valid_from',
    );
    expect(findNewMigrations()).toEqual([]);
  });

  it.each([
    { what: 'an empty file', text: '', fault: /^line 1: the file is empty\./ },
    {
      what: 'columns that no list has',
      text: 'a,b\n1,2',
      fault: /^line 1: the columns are "a,b"\. The columns code_type,/,
    },
    {
      what: 'a column twice',
      text: 'code_type,code,code,description\nT,A,A,y',
      fault: /^line 1: the columns are "code_type,code,code,/,
    },
    {
      what: 'a column of positions',
      text: `\n${VALUES_HEADER},position\norderType,A,,,1`,
      fault: /^line 2: the column position is not read: the order of the/,
    },
    {
      what: 'another encoding than UTF-8',
      text: Buffer.from(`${CODES_HEADER}\nA,é,d,,`, 'latin1'),
      fault: /^line 1: the file is not in UTF-8\. Save it as "CSV UTF-8"/,
    },
    {
      what: 'text after a quoted cell',
      text: `${CODES_HEADER}\nA,B,c,,\n\nA,"B"x,c,,\nA,"C"x,c,,`,
      fault: /^line 4: its quotes are wrong/,
    },
    {
      what: 'a formula as scripts write it',
      text: `${CODES_HEADER}\nA,="007",c,,`,
      fault: /^line 2: it has a formula, such as ="007"\. Write only the text, such as 007\.$/,
    },
    {
      what: 'a quote without its end',
      text: `${CODES_HEADER}\nA,"B\n,c,,\n`,
      fault: /^line 2: its quotes are wrong/,
    },
    {
      what: 'a quote without its end among the columns',
      text: `code_type,"code\nA,B`,
      fault: /^line 1: its quotes are wrong/,
    },
    {
      what: 'text after a quoted cell, below empty quoted cells',
      text: `${CODES_HEADER}\nA,"B\n\n",c,,\n"","",,,\nA,"B"x,c,,`,
      fault: /^line 6: its quotes are wrong/,
    },
    {
      what: 'text after a quoted cell, below a row that only has a line break in quotes',
      text: `${CODES_HEADER}\n"\n",,,,\nA,"B"x,c,,`,
      fault: /^line 4: its quotes are wrong/,
    },
    {
      what: 'text after a quoted cell, below a line break in the header',
      text: `code_type,"code\n",description\nA,"B"x,c`,
      fault: /^line 3: its quotes are wrong/,
    },
    {
      what: 'columns that no list has, after a line break in an empty cell',
      text: `"","\n"\na,b`,
      fault: /^line 3: the columns are "a,b"/,
    },
    {
      what: 'the character U+0000',
      text: `${CODES_HEADER}\nA,"B\n",c,,\nA,C\0,c,,`,
      fault: /^line 4: the file contains U\+0000, as a file in UTF-16 does\./,
    },
    {
      what: 'the character U+0000 at its beginning',
      text: `\0${CODES_HEADER}`,
      fault: /^line 1: the file contains U\+0000/,
    },
  ])('refuses $what, and names the line', async ({ text, fault }) => {
    expect(await findFaults(text)).toEqual([expect.stringMatching(fault)]);
  });

  it('puts many rows into one statement', async () => {
    const lines = Array.from({ length: 20_000 }, (_, index) => `SAMPLE,C${index},x,,`);
    const { up } = await makeStatements([CODES_HEADER, ...lines, ''].join('\r\n'));
    expect(up.match(/^ {2}\('SAMPLE'/gm)).toHaveLength(lines.length);
    expect(up.match(/^insert/gm)).toHaveLength(1);
  });
});

/** Generates valid texts, made mostly of characters with a meaning in CSV or SQL. */
function anyText(maxLength: number): fc.Arbitrary<string> {
  const unit = fc.constantFrom('a', 'B', ' ', ',', '"', "'", ';', '\\', '$', '-', 'é', '𝄞');
  const texts = fc.string({ minLength: 1, maxLength, unit });
  return texts.filter((value) => value.trim() === value);
}

const anyBeginning = fc.constantFrom('', '2027-01-01T00:00:00Z', '2027-06-01T12:00:00.123456Z');
const anyEnd = fc.constantFrom('', '9999-12-31T23:59:59.999999Z');

interface ListCase {
  readonly name: string;
  readonly table: Table;
  /** The columns that the files have. If a migration adds a nullable column to the table, files need not have it. */
  readonly columns: string[];
  /** Generates the fields of one line below the header. */
  readonly line: fc.Arbitrary<string[]>;
  /** The lines of a file that is tried in addition to the generated files. */
  readonly example: string[][];
  /** In the table, the lines that begin with one of these texts have the order of the file. */
  readonly orderedBeginnings: readonly string[];
}

const CASES: ListCase[] = [
  {
    name: 'communication-codes',
    table: COMMUNICATION_CODE,
    columns: CODES_HEADER.split(','),
    line: fc.tuple(fc.constantFrom('a', 'B'), anyText(2), anyText(8), anyBeginning, anyEnd),
    example: [],
    orderedBeginnings: [],
  },
  {
    name: 'code-lists',
    table: CODE_LIST_VALUE,
    columns: VALUES_HEADER.split(','),
    line: fc.tuple(
      fc.constantFrom('orderType', 'equipmentType'),
      fc.oneof(anyText(2), fc.constantFrom('Standard', 'Return', 'FlatBed', 'Tanker', 'DryVan')),
      anyBeginning,
      anyEnd,
    ),
    // More than nine values: as a text, position 10 would come before 9
    example: Array.from('lkjihgfedcba', (value) => ['orderType', value, '', '']),
    orderedBeginnings: ['orderType,', 'equipmentType,'],
  },
];

it.each(CASES)(
  'if any file of $name is applied, the table has the rows and the order of the file, and `down` restores the table',
  async ({ table, columns, line, example, orderedBeginnings }) => {
    await database.query(
      `insert into communication_code values ('a', 'a', 'x', null), ('a', 'B', 'y', '2027-01-01Z'),
         ('B', ',', 'z', null)`,
    );
    const files = fc.uniqueArray(line, { selector: keyOf, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(files, fc.boolean(), async (rows, isComplete) => {
        const csv = stringify([columns, ...rows], WINDOWS_LINE_ENDS);
        const before = await readTable(table, columns);
        const { up, down } = await makeStatements(csv, isComplete);
        await client.query(up);
        const after = await readTable(table, columns);
        const kept = isComplete ? [] : rowsWithout(before, rows);
        const expected = [...linesOf(csv), ...linesOf(stringify(kept, WINDOWS_LINE_ENDS))];
        expect(linesOf(after).toSorted()).toEqual(expected.toSorted());
        for (const beginning of orderedBeginnings) {
          const wanted = linesOf(csv).filter((text) => text.startsWith(beginning));
          expect(linesOf(after).filter((text) => wanted.includes(text))).toEqual(wanted);
        }
        expect(await makeStatements(after, true)).toEqual({ up: '', down: '' });
        await client.query(down);
        expect(await readTable(table, columns)).toBe(before);
      }),
      { numRuns: 15, examples: [[example, false]] },
    );
  },
);

/** Returns the table as the text of a file. */
async function readTable(table: Table, columns: string[]): Promise<string> {
  const rows = await readRows(client, table);
  return stringify(rows, { ...WINDOWS_LINE_ENDS, columns, header: true });
}

/** Returns the key of a line: its first two columns, in both tables. */
function keyOf([first, second]: readonly string[]): string {
  return `${first},${second}`;
}

/** Returns the rows of a CSV text, except those whose key is the key of one of the lines. */
function rowsWithout(csv: string, lines: readonly string[][]): string[][] {
  const keys = new Set(lines.map(keyOf));
  const rows: string[][] = parse(csv, { from_line: 2 });
  return rows.filter((row) => !keys.has(keyOf(row)));
}

function linesOf(csv: string): string[] {
  return csv.split('\r\n').filter((text) => text !== '');
}
