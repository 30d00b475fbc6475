import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { stringify } from 'csv-stringify/sync';
import * as fc from 'fast-check';
import { Client } from 'pg';
import { compareList } from '../../../src/administration/lists/compare-list.js';
import { listMigration } from '../../../src/administration/lists/list-migration.js';
import {
  LISTS,
  type ListTable,
  readRows,
  toCsv,
} from '../../../src/administration/lists/list-tables.js';
import { parseListFile } from '../../../src/administration/lists/read-list-file.js';
import {
  applyMigrations,
  undoMigrations,
} from '../../../src/administration/migrate/run-migrations.js';
import { type TestDatabase, createDatabase } from '../../support/database.js';
import { NAMES, ProgramCopy } from '../../support/program-copy.js';

let copy: ProgramCopy;
let database: TestDatabase;
let client: Client;

const open = async (): Promise<Client> => {
  const session = new Client(database.urlOf('order_lookup_owner'));
  await session.connect();
  return session;
};

beforeAll(() => {
  copy = new ProgramCopy();
});
afterAll(() => copy.remove());
beforeEach(async () => {
  copy.reset();
  database = await createDatabase();
  copy.environment = { DATABASE_URL: database.url };
  client = await open();
});
afterEach(async () => {
  await client.end();
  await database.drop();
});

const file = (name: string, text: string | Uint8Array): string => {
  const path = join(copy.folder, name);
  writeFileSync(path, text);
  return path;
};
const own = (): string[] =>
  readdirSync(copy.migrations).filter((name) => !NAMES.includes(name.replace('.sql', '')));
const exported = async (name: string): Promise<string> =>
  (await copy.start('codes', 'export', name).ended).stdout;
const CODES = 'code_type,code,description,valid_from,valid_until';
const VALUES = 'code_list,value,position,valid_from,valid_until';

describe('codes export', () => {
  it('prints the lists in the order of the answers, by RFC 4180', async () => {
    const text = await exported('code-lists');
    expect(text.split('\r\n').slice(0, 3)).toEqual([
      VALUES,
      'commentType,General,1,,',
      'commentType,BOL,2,,',
    ]);
    expect(text.endsWith('\r\n')).toBe(true);
    await database.query(
      `insert into communication_code values ('T', 'a,"b"', 'é; x', '2027-01-01T00:00Z', '2027-01-01T00:00:00.5Z')`,
    );
    expect(await exported('communication-codes')).toBe(
      `${CODES}\r\nT,"a,""b""",é; x,2027-01-01T00:00:00Z,2027-01-01T00:00:00.5Z\r\n`,
    );
    expect(await copy.start('codes', 'export', 'keys').ended).toMatchObject({
      status: 1,
      stdout: '',
    });
  });
});

describe('codes export --excel', () => {
  it.each([
    ['a', 'sep=;\r\n', ''],
    ['é', '\ufeff', 'There are letters outside ASCII, '],
  ])('writes what a double click opens: %s', async (letter, begin, said) => {
    await database.query(`insert into communication_code values ('T', '1;2', $1)`, [letter]);
    const { status, stdout, stderr } = await copy.start(
      'codes',
      'export',
      'communication-codes',
      '--excel',
    ).ended;
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: `${begin}${CODES.replaceAll(',', ';')}\r\nT;"1;2";${letter};;\r\n`,
    });
    expect(stderr.startsWith(said)).toBe(true);
    expect((await copy.migrate('new', 'same', '--from', file('same.csv', stdout))).stdout).toMatch(
      /^The database already holds/,
    );
  });

  it('names the cells that a spreadsheet would run', async () => {
    await database.query(
      `insert into communication_code values ('T', '-1', '=cmd|A1'), ('T', '2', 'a = b')`,
    );
    expect((await copy.start('codes', 'export', 'communication-codes').ended).stderr).toBe(
      'A spreadsheet would run cells as formulas, and save what comes out (2): code "-1" of T; description "=cmd|A1" of T. Import these columns as text.\n',
    );
  });
});

describe('migrate new --from', () => {
  it('says so where there is no difference, and writes nothing', async () => {
    const path = file('lists.csv', `\ufeff${await exported('code-lists')}`);
    expect(await copy.migrate('new', 'same', '--from', path, '--complete')).toEqual({
      status: 0,
      stdout: `The database already holds what ${path} says. Nothing was written.\n`,
      stderr: '',
    });
    expect(own()).toEqual([]);
  });

  it('reads lines that were appended to an exported file with other line ends', async () => {
    const path = file(
      'more.csv',
      `${await exported('communication-codes')}T,A,first,,\nT,B,second,,\n`,
    );
    expect(await copy.migrate('new', 'add_codes', '--from', path)).toMatchObject({ status: 0 });
    expect(await copy.migrate('up')).toMatchObject({ status: 0 });
    expect(await exported('communication-codes')).toBe(
      `${CODES}\r\nT,A,first,,\r\nT,B,second,,\r\n`,
    );
  });

  it('inserts in the middle, leaves what the file lacks, and goes back', async () => {
    const before = await exported('code-lists');
    const path = file(
      'middle.csv',
      'code_list,value,position,valid_from,valid_until\norderType,Standard,1,,\norderType,Transfer,,2027-01-01T00:00:00+01:00,\norderType,Return,2,,\n',
    );
    expect(await copy.migrate('new', 'insert_transfer', '--from', path)).toMatchObject({
      status: 0,
    });
    expect(await copy.migrate('up')).toMatchObject({ status: 0, stderr: '' });
    expect(
      await database.query(
        `select value::text, position from code_list_value where code_list = 'orderType' order by position`,
      ),
    ).toEqual([
      { value: 'Standard', position: 1 },
      { value: 'Transfer', position: 2 },
      { value: 'Return', position: 3 },
    ]);
    expect(await exported('code-lists')).toContain(
      'orderType,Transfer,2,2026-12-31T23:00:00Z,\r\n',
    );
    expect(await copy.migrate('down', '--yes')).toMatchObject({ status: 0 });
    expect(await exported('code-lists')).toBe(before);
  });

  const latin1 = Buffer.from(`${CODES}\nA,B,c,,\nA,é,d,,`, 'latin1');
  it.each<[string | Uint8Array, RegExp]>([
    ['', /line 1: the file is empty\. Needed are/],
    ['a,b\n1,2', /line 1: the columns are "a,b"\. Needed are code_type,/],
    ['code_type,code\n1,2', /line 1: the columns are/],
    [latin1, /line 3: it is not in UTF-8/],
    [`${CODES}\nA,B,c,,\nA,C,c,,\nA,B,d,,`, /line 4: code_type "A", code "B" stands in line 2/],
    [`${CODES}\nA,"B ",c,,`, /line 2: code "B " begins or ends with a space/],
    [`${CODES}\nA,,c,,`, /line 2: code is empty/],
    [`${CODES}\nA,${'x'.repeat(257)},c,,`, /line 2: code "x+" is longer than 256/],
    [`${CODES}\nA,"B\nC",c,,`, /line 2: code "B\\nC" has a control character/],
    [`${CODES}\nA,B,c,,\nA,"B"x,c,,`, /line 3: its quotes are wrong/],
    [`${CODES}\nA,"B,c,,`, /line 2: its quotes are wrong/],
    [`${CODES}\nA,B,c,,\nA,C`, /line 3: it has more or fewer fields/],
    [`${CODES}\nA,B,c,1.1.2027,`, /line 2: valid_from is "1\.1\.2027"\. A moment such as/],
    [`${CODES}\nA,B,c,2027-01-02T00:00:00Z,2027-01-01T00:00:00Z`, /line 2: valid_until is not/],
    [`${VALUES}\norderType,A,2,,\norderType,B,2,,`, /line 3: position 2 stands behind .* line 2/],
    [`${VALUES}\norderType,A,2,,\norderType,B,1,,`, /line 3: position 1 stands behind .* line 2/],
    [`${VALUES}\norderType,A,1,,`, /line 2: position 1 contradicts .* gives it 3, since the file/],
    [`${VALUES}\norderTypo,A,,,`, /line 2: there is no list "orderTypo"/],
  ])('refuses %j whole, with line and remedy', async (text, said) => {
    const path = file('bad.csv', text);
    const { status, stdout, stderr } = await copy.migrate('new', 'bad', '--from', path);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(said);
    expect(stderr).toMatch(/\nNothing was written\.\n$/);
    expect(own()).toEqual([]);
  });

  it('tells twenty faults at once, each with the line on which it begins', async () => {
    const bad = Array.from({ length: 30 }, (_, at) => `A,${at},"a${at % 2 ? '' : '\n\n'}b",x,\r\n`);
    const path = file('bad.csv', `${CODES}\r\n${bad.join('')}`);
    const lines = (await copy.migrate('new', 'bad', '--from', path)).stderr.split('\n');
    expect(lines.slice(20)).toEqual(['… and 25 more', 'Nothing was written.', '']);
    expect(lines.slice(0, 4).map((line) => /line \d+: \w+/.exec(line)?.[0])).toEqual([
      'line 2: description',
      'line 2: valid_from',
      'line 5: valid_from',
      'line 6: description',
    ]);
  });

  it.each([
    [
      'semicolons, a byte order mark, quotes and line ends of Windows',
      `\ufeff${CODES.replaceAll(',', ';')}\r\n"T";A;"a ""b""; c";;\r\n`,
    ],
    [
      'the separator named in the first line',
      `sep=;\r\n${CODES.replaceAll(',', ';')}\r\nT;A;"a ""b""; c";;\r\n`,
    ],
    [
      'commas and columns in another order',
      'description,code,code_type,valid_until,valid_from\n"a ""b""; c",A,T,,',
    ],
  ])('reads a file with %s', async (_name, text) => {
    expect(await copy.migrate('new', 'add', '--from', file('some.csv', text))).toMatchObject({
      status: 0,
    });
    expect(await copy.migrate('up')).toMatchObject({ status: 0 });
    expect(
      await database.query('select code_type, code, description from communication_code'),
    ).toEqual([{ code_type: 'T', code: 'A', description: 'a "b"; c' }]);
  });

  it('takes many rows, in statements of a thousand, and no more than 100,000', async () => {
    const rows = (count: number): string =>
      Array.from({ length: count }, (_, at) => `SAMPLE,C${at},The code number ${at},,\r\n`).join(
        '',
      );
    expect(
      await copy.migrate('new', 'add', '--from', file('many.csv', `${CODES}\r\n${rows(2_500)}`)),
    ).toMatchObject({ status: 0 });
    expect(
      readFileSync(join(copy.migrations, own()[0] ?? ''), 'utf8').match(/^insert/gm),
    ).toHaveLength(3);
    expect(await copy.migrate('up')).toMatchObject({ status: 0, stderr: '' });
    expect(await database.query('select count(*)::int as count from communication_code')).toEqual([
      { count: 2_500 },
    ]);
    expect(
      await copy.migrate('new', 'more', '--from', file('more.csv', `${CODES}\r\n${rows(100_001)}`)),
    ).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/line 100002: there are more than/),
    });
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
const moment = fc.option(
  fc.constantFrom(
    '2027-01-01T00:00:00Z',
    '2027-06-01T12:00:00.123456Z',
    '0001-01-01T00:00:00Z',
    '9999-12-31T23:59:59.999999Z',
  ),
  { nil: '' },
);
const validity = fc
  .record({ from: moment, until: moment })
  .map(({ from, until }) =>
    from && until && from >= until ? { from, until: '' } : { from, until },
  );

describe('any file', () => {
  /** Writes it, as it is compared, as the table has to be exported afterwards. */
  const roundTrip = async (list: ListTable, rows: string[][], complete: boolean): Promise<void> => {
    const csv = stringify([list.columns, ...rows], { record_delimiter: 'windows' });
    const exportList = async () => toCsv(list, await readRows(client, list));
    const before = await exportList();
    const migrationName = `${String(Number(NAMES.at(-1)?.slice(0, 4)) + 1).padStart(4, '0')}_from_file`;
    const changes = await compareList(
      client,
      'any.csv',
      parseListFile('any.csv', Buffer.from(csv)),
      complete,
    );
    if (Object.values(changes).every((some) => some.length === 0))
      return expect(before.split('\r\n').toSorted()).toEqual(
        expect.arrayContaining(csv.split('\r\n')),
      );
    copy.write(migrationName, listMigration(list, changes, 'Any'));
    await applyMigrations(copy.migrations, open);
    const after = await exportList();
    const lines = (all: string): string[] =>
      all
        .split('\r\n')
        .map((line) =>
          list.key[0] === 'code_list' ? line.replace(/,\d+,([^,]*,[^,]*)$/, ',,$1') : line,
        );
    if (complete) expect(lines(after).toSorted()).toEqual(lines(csv).toSorted());
    else expect(lines(after)).toEqual(expect.arrayContaining(lines(csv)));
    if (list.key[0] === 'code_list') {
      const inFile = new Set(lines(csv));
      for (const name of ['orderType,', 'equipmentType,'])
        expect(lines(after).filter((line) => line.startsWith(name) && inFile.has(line))).toEqual(
          lines(csv).filter((line) => line.startsWith(name)),
        );
    }
    await undoMigrations(copy.migrations, open, [migrationName]);
    expect(await exportList()).toBe(before);
    copy.reset();
  };

  it('of codes brings the table to what it says, and back', async () => {
    await database.query(
      `insert into communication_code values ('a', 'a', 'x', null), ('a', 'B', 'y', '2027-01-01Z'), ('B', ',', 'z', null)`,
    );
    const row = fc.record({
      codeType: fc.constantFrom('a', 'B'),
      code: text(2),
      description: text(8),
      validity,
    });
    const rows = fc.uniqueArray(row, {
      selector: ({ codeType, code }) => `${codeType} ${code}`,
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(rows, fc.boolean(), (all, complete) =>
        roundTrip(
          LISTS['communication-codes'],
          all.map((one) => [
            one.codeType,
            one.code,
            one.description,
            one.validity.from,
            one.validity.until,
          ]),
          complete,
        ),
      ),
      { numRuns: 25 },
    );
  });

  it('of lists brings them and their order to what it says, and back', async () => {
    const row = fc.record({
      list: fc.constantFrom('orderType', 'equipmentType'),
      value: text(2).chain((odd) =>
        fc.constantFrom(odd, 'Standard', 'Return', 'FlatBed', 'Tanker', 'DryVan'),
      ),
      validity,
    });
    const rows = fc.uniqueArray(row, {
      selector: ({ list, value }) => `${list} ${value}`,
      maxLength: 10,
    });
    // Positions are numbers, so 10 comes behind 9
    const twelve = 'lkjihgfedcba'.split('').map((value) => ({
      list: 'orderType' as const,
      value,
      validity: { from: '', until: '' },
    }));
    await fc.assert(
      fc.asyncProperty(rows, fc.boolean(), (all, complete) =>
        roundTrip(
          LISTS['code-lists'],
          all.map((one) => [one.list, one.value, '', one.validity.from, one.validity.until]),
          complete,
        ),
      ),
      { numRuns: 25, examples: [[twelve, false]] },
    );
  });
});
