import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { stringify } from 'csv-stringify/sync';
import * as fc from 'fast-check';
import { changesFrom, readListFile } from '../../../src/administration/lists/list-file.js';
import {
  CODE_LISTS,
  COMMUNICATION_CODES,
  type List,
  readRows,
} from '../../../src/administration/lists/list-tables.js';
import { migrationText } from '../../../src/administration/lists/migration-text.js';
import { NAMES } from '../../support/program-copy.js';
import { testCopy } from '../../support/test-copy.js';

const CODES = 'code_type,code,description,valid_from,valid_until';
const VALUES = 'code_list,value,valid_from,valid_until';
const { copy, database } = await testCopy();
const client = await database.session();
afterEach(() => database.query('truncate communication_code'));

const file = (text: string | Uint8Array): string => {
  const path = join(copy.folder, 'list.csv');
  writeFileSync(path, text);
  return path;
};
const exported = (...words: string[]) => copy.start('codes', 'export', ...words).ended;
const written = (): string[] =>
  readdirSync(copy.migrations).filter((name) => !NAMES.includes(name.replace('.sql', '')));

/** What the command does with a file, without a process of its own: for many files. */
const compared = async (text: string | Uint8Array, complete = false) => {
  const changes = await changesFrom(client, await readListFile(file(text)), complete);
  const sql = migrationText({ title: 'Any', changes: [changes] }) ?? '';
  const [up = '', down = ''] = sql.split('-- Down Migration');
  return { changes, up, down };
};

/** What is wrong with a file, a line for each fault. */
const faultsOf = async (text: string | Uint8Array): Promise<string[]> => {
  const error = (await compared(text).catch((refusal: Error) => refusal)) as Error;
  const lines = error.message.split('\n');
  expect(lines.pop()).toBe('Nothing was written.');
  return lines.map((line) => line.replace(/^.*list\.csv, /, ''));
};

describe('codes export', () => {
  it('prints the lists in the order of the answers, by RFC 4180', async () => {
    await database.query(
      `insert into communication_code values
         ('T', 'a,"b"', 'é; x', '2027-01-01T00:00Z', '2027-01-01T00:00:00.5Z'),
         ('T', '-1', '=cmd|A1', null, null), ('T', '2', 'a = b', null, null)`,
    );
    const lines = [
      CODES,
      'T,-1,=cmd|A1,,',
      'T,2,a = b,,',
      'T,"a,""b""",é; x,2027-01-01T00:00:00Z,2027-01-01T00:00:00.5Z',
      '',
    ];
    expect(await exported('communication-codes')).toEqual({
      status: 0,
      stdout: lines.join('\r\n'),
      stderr: '',
    });
    const { stdout } = await exported('code-lists');
    expect(stdout).toMatch(/^.*\r\ncommentType,General,,\r\ncommentType,BOL,,\r\n[^]*\r\n$/);
    expect(await exported('keys')).toMatchObject({ status: 1, stdout: '' });
  });

  it('writes what is read as the same again', async () => {
    await database.query(`insert into communication_code values ('T', '1,2', 'é')`);
    const path = file((await exported('communication-codes')).stdout);
    expect(await copy.migrate('new', 'same', '--from', path, '--complete')).toEqual({
      status: 0,
      stdout: `The database already holds what ${path} says. Nothing was written.\n`,
      stderr: '',
    });
    expect(written()).toEqual([]);
  });
});

describe('migrate new --from', () => {
  it('inserts in the middle, leaves what the file lacks, and goes back', async () => {
    const before = (await exported('code-lists')).stdout;
    const path = file(
      `${VALUES}\norderType,Standard,,\r\norderType,Transfer,2027-01-01T00:00:00+01:00,\norderType,Return,,\r\n`,
    );
    for (const words of [['new', 'insert_transfer', '--from', path], ['up']])
      expect(await copy.migrate(...words)).toMatchObject({ status: 0, stderr: '' });
    const after = (await exported('code-lists')).stdout;
    expect(after).toBe(
      before.replace(
        'orderType,Standard,,\r\n',
        'orderType,Standard,,\r\norderType,Transfer,2026-12-31T23:00:00Z,\r\n',
      ),
    );
    expect(await copy.migrate('down', '--yes')).toMatchObject({ status: 0 });
    expect((await exported('code-lists')).stdout).toBe(before);
  });

  it('refuses a file whole, tells twenty faults at once, each with the line on which it begins', async () => {
    const bad = 'A,B,"a\r\n\nb",x,\r\nA,C,d,x,\r\n'.repeat(15);
    const path = file(`${CODES}\r\n\r\n${bad}`);
    const { status, stdout, stderr } = await copy.migrate('new', 'bad', '--from', path);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/\n… and \d+ more\nNothing was written\.\n$/);
    const faults = stderr.match(/line \d+: \w+/g) ?? [];
    expect(faults).toHaveLength(20);
    expect(faults.slice(0, 4).join()).toBe(
      'line 3: description,line 3: valid_from,line 6: valid_from,line 7: description',
    );
    expect(written()).toEqual([]);
  });

  it.each<[string | Uint8Array, RegExp]>([
    ['', /^line 1: the file is empty\./],
    ['a,b\n1,2', /^line 1: the columns are "a,b"\. Needed are code_type,/],
    ['code_type,code,code,description\nT,A,A,y', /^line 1: the columns are "code_type,code,code,/],
    [
      `\n${VALUES},position\norderType,A,,,1`,
      /^line 2: the column position is not read: the order of the/,
    ],
    [
      Buffer.from(`${CODES}\nA,é,d,,`, 'latin1'),
      /^line 1: the file is not in UTF-8\. Save it as "CSV UTF-8"/,
    ],
    [`${CODES}\nA,B,c,,\nA,C,c,,\nA,B,d,,`, /^line 4: code_type and code are those of line 2/],
    [`${CODES}\nA,"B ",c,,`, /^line 2: code is "B "\. 1 to 256 characters are needed, no space/],
    [`${CODES}\nA,${'x'.repeat(257)},c,,`, /^line 2: code is "x{60}"\. 1 to 256/],
    [`${CODES}\nA,B,"c\nd",,`, /^line 2: description is "c\\nd"\. .* no line break/],
    [`${CODES}\nA,B,c,,\n\nA,"B"x,c,,\nA,"C"x,c,,`, /^line 4: its quotes are wrong/],
    [`${CODES}\nA,"B\n,c,,\n`, /^line 2: its quotes are wrong/],
    [`code_type,"code\nA,B`, /^line 1: its quotes are wrong/],
    [`${CODES}\nA,B,c,1.1.2027,`, /^line 2: valid_from is "1\.1\.2027"\. A moment such as/],
    [`${CODES}\nA,B,c,2027-01-02T00:00:00Z,2027-01-01T00:00:00Z`, /^line 2: valid_until is not/],
    [
      `${CODES}\nA,B,c,2027-01-01T00:00:00.000002Z,2027-01-01T00:00:00.000001Z`,
      /^line 2: valid_until is not after valid_from/,
    ],
    [`${VALUES}\norderTypo,A,,`, /^line 2: there is no list "orderTypo"/],
  ])('refuses %j', async (text, fault) => {
    expect(await faultsOf(text)).toEqual([expect.stringMatching(fault)]);
  });

  it.each([
    ['semicolons', `\ufeff${CODES.replaceAll(',', ';')}\r\n"T";A;"a ""b""; c";;\r\n`],
    ['other columns', 'description,code,code_type,valid_until,valid_from\n"a ""b""; c",A,T,,'],
    ['old line ends', `${CODES}\rT,A,"a ""b""; c",,\r`],
  ])('reads a file with %s', async (_name, text) => {
    await client.query((await compared(text)).up);
    expect(await readRows(client, COMMUNICATION_CODES)).toEqual([
      { code_type: 'T', code: 'A', description: 'a "b"; c', valid_from: '', valid_until: '' },
    ]);
  });

  it('leaves moments for which the file has no column, and takes lines of separators for empty ones', async () => {
    await client.query(
      `insert into communication_code values ('T', 'A', 'x', '2027-01-01Z', null),
         ('T', 'B', 'x', null, '2028-01-01Z')`,
    );
    const text =
      'description;valid_until;code;code_type\r\ny;;A;T\r\n;;;\r\n ; ;;\r\ny;;B;T\r\nz;;C;T\r\n';
    const { changes } = await compared(text);
    const row = (code: string, description: string, valid_from: string) =>
      expect.objectContaining({ code, description, valid_from, valid_until: '' });
    expect(changes.after).toEqual([
      row('A', 'y', '2027-01-01T00:00:00Z'),
      row('B', 'y', ''),
      row('C', 'z', ''),
    ]);
    // The moment that stays counts for the one that is written
    const early = 'code_type,code,description,valid_until\nT,A,y,2026-01-01T00:00:00Z';
    await expect(compared(early)).rejects.toThrow('line 2: valid_until is not after valid_from');
  });

  it('takes many rows, in one statement', async () => {
    const rows = (count: number): string =>
      `${CODES}\r\n${Array.from({ length: count }, (_, at) => `SAMPLE,C${at},x,,\r\n`).join('')}`;
    expect((await compared(rows(2_500))).up.match(/^insert/gm)).toHaveLength(1);
    expect((await compared(rows(100_000))).changes.after).toHaveLength(100_000);
  });
});

const text = (most: number): fc.Arbitrary<string> =>
  fc
    .string({
      minLength: 1,
      maxLength: most,
      unit: fc.constantFrom('a', 'B', ' ', ',', '"', "'", ';', '\\', '$', '-', 'é', '𝄞'),
    })
    .filter((value) => value.trim() === value);
const moment = fc.constantFrom('', '2027-01-01T00:00:00Z', '2027-06-01T12:00:00.123456Z');
const lastMoment = fc.constantFrom('', '9999-12-31T23:59:59.999999Z');
const codes = fc.tuple(fc.constantFrom('a', 'B'), text(2), text(8), moment, lastMoment);
const values = fc.tuple(
  fc.constantFrom('orderType', 'equipmentType'),
  fc.oneof(text(2), fc.constantFrom('Standard', 'Return', 'FlatBed', 'Tanker', 'DryVan')),
  moment,
  lastMoment,
);
/** Positions are numbers, so 10 comes behind 9. */
const TWELVE = 'lkjihgfedcba'.split('').map((value) => ['orderType', value, '', '']);

it.each<[string, List, fc.Arbitrary<string[]>, string[][]]>([
  ['communication-codes', COMMUNICATION_CODES, codes, []],
  ['code-lists', CODE_LISTS, values, TWELVE],
])(
  'any file of %s brings the table and its order to what it says, and back',
  async (_name, list, row, example) => {
    const options = { columns: [...list.fileColumns], header: true, record_delimiter: 'windows' };
    const table = async () => stringify(await readRows(client, list), options);
    const linesOf = (csv: string): string[] => csv.split('\r\n').filter((line) => line !== '');
    await database.query(
      `insert into communication_code values ('a', 'a', 'x', null), ('a', 'B', 'y', '2027-01-01Z'),
         ('B', ',', 'z', null)`,
    );
    const files = fc.uniqueArray(row, {
      selector: (fields) => fields.slice(0, 2).join(),
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(files, fc.boolean(), async (rows, complete) => {
        const csv = stringify([list.fileColumns, ...rows], { record_delimiter: 'windows' });
        const before = await table();
        const { up, down } = await compared(csv, complete);
        await client.query(up);
        const after = await table();
        if (complete) expect(linesOf(after).toSorted()).toEqual(linesOf(csv).toSorted());
        else expect(linesOf(after)).toEqual(expect.arrayContaining(linesOf(csv)));
        for (const first of list === CODE_LISTS ? ['orderType,', 'equipmentType,'] : []) {
          const wanted = linesOf(csv).filter((line) => line.startsWith(first));
          expect(linesOf(after).filter((line) => wanted.includes(line))).toEqual(wanted);
        }
        expect((await compared(after, true)).changes).toMatchObject({ before: [], after: [] });
        await client.query(down);
        expect(await table()).toBe(before);
      }),
      { numRuns: 15, examples: [[example, false]] },
    );
  },
);
