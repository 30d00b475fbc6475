import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { stringify } from 'csv-stringify/sync';
import {
  type Arbitrary,
  assert,
  asyncProperty,
  boolean,
  constantFrom,
  option,
  record,
  string,
  uniqueArray,
} from 'fast-check';
import { Client } from 'pg';
import { migrationFor } from '../../../src/administration/lists/list-migration.js';
import {
  LISTS,
  type ListTable,
  exportList,
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

describe('codes export', () => {
  it('prints the lists in the order of the answers, by RFC 4180', async () => {
    const text = await exported('code-lists');
    expect(text.split('\r\n').slice(0, 3)).toEqual([
      'code_list,value,position,valid_from,valid_until',
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
    expect(await copy.migrate('down')).toMatchObject({ status: 0 });
    expect(await exported('code-lists')).toBe(before);
  });

  it.each<[string, string | Uint8Array, RegExp]>([
    ['nothing', '', /line 1: the file is empty/],
    ['another header', 'a,b\n1,2', /line 1: the columns are "a,b"\. Needed are code_type,/],
    ['a column that lacks', 'code_type,code\n1,2', /line 1: the columns are/],
    [
      'semicolons',
      `${CODES.replaceAll(',', ';')}\nA;B;c;;`,
      /line 1: its columns are separated by semicolons/,
    ],
    [
      'a key twice',
      `${CODES}\nA,B,c,,\nA,C,c,,\nA,B,d,,`,
      /line 4: code_type "A", code "B" stands in line 2 already/,
    ],
    ['padding', `${CODES}\nA,"B ",c,,`, /line 2: code "B " begins or ends with a space/],
    ['no code', `${CODES}\nA,,c,,`, /line 2: code is empty/],
    ['length', `${CODES}\nA,${'x'.repeat(257)},c,,`, /line 2: code "x+" is longer than 256/],
    ['a line break', `${CODES}\nA,"B\nC",c,,`, /line 3: code "B\\nC" has a control character/],
    ['wrong quotes', `${CODES}\nA,B,c,,\nA,"B"x,c,,`, /line 3: its quotes are wrong/],
    ['an open quote', `${CODES}\nA,"B,c,,`, /line 2: its quotes are wrong/],
    ['too few fields', `${CODES}\nA,B,c,,\nA,C`, /line 3: it has more or fewer fields/],
    [
      'another encoding',
      Buffer.concat([Buffer.from(`${CODES}\nA,B,c,,\nA,`), Buffer.of(0xe9), Buffer.from(',d,,')]),
      /line 3: it is not in UTF-8/,
    ],
    [
      'a moment that is none',
      `${CODES}\nA,B,c,1.1.2027,`,
      /line 2: valid_from is "1\.1\.2027"\. A moment such as/,
    ],
    [
      'an end before its beginning',
      `${CODES}\nA,B,c,2027-01-02T00:00:00Z,2027-01-01T00:00:00Z`,
      /line 2: valid_until is not after/,
    ],
    [
      'an unknown list',
      'code_list,value,valid_from,valid_until\norderTypo,A,,',
      /there is no list "orderTypo"/,
    ],
    [
      'positions out of order',
      'code_list,value,position,valid_from,valid_until\norderType,Return,2,,\norderType,Standard,1,,',
      /line 3: position 1 stands behind 2/,
    ],
  ])('refuses %s whole, with line and remedy', async (_name, text, said) => {
    const { status, stdout, stderr } = await copy.migrate(
      'new',
      'bad',
      '--from',
      file('bad.csv', text),
    );
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(said);
    expect(stderr).toMatch(/ Nothing was written\.\n$/);
    expect(own()).toEqual([]);
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

const text = (most: number): Arbitrary<string> =>
  string({
    minLength: 1,
    maxLength: most,
    unit: constantFrom('a', 'B', ' ', ',', '"', "'", ';', '\\', '$', '-', 'é', '𝄞'),
  }).filter((value) => value.trim() === value);
const moment = option(
  constantFrom(
    '2027-01-01T00:00:00Z',
    '2027-06-01T12:00:00.123456Z',
    '0001-01-01T00:00:00Z',
    '9999-12-31T23:59:59.999999Z',
  ),
  { nil: '' },
);
const validity = record({ from: moment, until: moment }).map(({ from, until }) =>
  from && until && from >= until ? { from, until: '' } : { from, until },
);

describe('any file', () => {
  /** Writes it, as it is compared, as the table has to be exported afterwards. */
  const roundTrip = async (list: ListTable, rows: string[][], complete: boolean): Promise<void> => {
    const csv = stringify([list.columns, ...rows], { record_delimiter: 'windows' });
    const before = await exportList(client, list);
    const migrationName = `${String(Number(NAMES.at(-1)?.slice(0, 4)) + 1).padStart(4, '0')}_from_file`;
    const migration = await migrationFor(
      client,
      'any.csv',
      parseListFile('any.csv', Buffer.from(csv)),
      complete,
    );
    if (migration === undefined)
      return expect(before.split('\r\n').toSorted()).toEqual(
        expect.arrayContaining(csv.split('\r\n')),
      );
    copy.write(migrationName, migration);
    await applyMigrations(copy.migrations, open);
    const after = await exportList(client, list);
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
    await undoMigrations(copy.migrations, open, 1);
    expect(await exportList(client, list)).toBe(before);
    copy.reset();
  };

  it('of codes brings the table to what it says, and back', async () => {
    await database.query(
      `insert into communication_code values ('a', 'a', 'x', null), ('a', 'B', 'y', '2027-01-01Z'), ('B', ',', 'z', null)`,
    );
    const row = record({
      codeType: constantFrom('a', 'B'),
      code: text(2),
      description: text(8),
      validity,
    });
    const rows = uniqueArray(row, {
      selector: ({ codeType, code }) => `${codeType} ${code}`,
      maxLength: 12,
    });
    await assert(
      asyncProperty(rows, boolean(), (all, complete) =>
        roundTrip(
          LISTS['communication-codes'] as ListTable,
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
    const row = record({
      list: constantFrom('orderType', 'equipmentType'),
      value: text(2).chain((odd) =>
        constantFrom(odd, 'Standard', 'Return', 'FlatBed', 'Tanker', 'DryVan'),
      ),
      validity,
    });
    const rows = uniqueArray(row, {
      selector: ({ list, value }) => `${list} ${value}`,
      maxLength: 10,
    });
    // Positions are numbers, so 10 comes behind 9
    const twelve = 'lkjihgfedcba'.split('').map((value) => ({
      list: 'orderType' as const,
      value,
      validity: { from: '', until: '' },
    }));
    await assert(
      asyncProperty(rows, boolean(), (all, complete) =>
        roundTrip(
          LISTS['code-lists'] as ListTable,
          all.map((one) => [one.list, one.value, '', one.validity.from, one.validity.until]),
          complete,
        ),
      ),
      { numRuns: 25, examples: [[twelve, false]] },
    );
  });
});
