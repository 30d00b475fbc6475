import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { useTestFolder } from '../../../test/support/test-folder.js';
import { findFaults, hasStatement, readMigration } from './migration-files.js';

const UP = '-- Up Migration';
const DOWN = '-- Down Migration';
const NAME = '20261127120000_x';

const folder = useTestFolder();
const severalFiles = useTestFolder();
const folderInFolder = useTestFolder();

function faultsOf(content: string | Buffer): Promise<string[]> {
  writeFileSync(join(folder, `${NAME}.sql`), content);
  return findFaults(folder);
}

it.each([
  { what: 'a comment above a marker, and spaces after it', text: `-- why\n${UP}\na;\n${DOWN}  \nc` },
  { what: 'the line ends of Windows, and a byte order mark', text: `\ufeff${UP}\r\na\r\n${DOWN}\r\nc` },
  { what: 'the word migration in a comment', text: `${UP}\na;\n-- what the migration does` },
  { what: 'signs of a conflict inside a line', text: `${UP}\n-- =======\nselect '<<<<<<<';` },
])('accepts a file with $what', async ({ text }) => {
  expect(await faultsOf(text)).toEqual([]);
});

it.each([
  ...['-- up migration', '--Up Migration', '-- Up Migration:', '  -- Up Migration'],
  ...['-- Up  Migration', '-- Up Migrations', '-- Up Migraton', '-- Dwon Migration'],
  ...['--- Down Migration', '/* Down Migration */', 'Down Migration'],
])('reports the misspelt marker %j with its line', async (line) => {
  expect(await faultsOf(`${UP}\nselect 1;\n${line}\n${DOWN}`)).toEqual([
    `${NAME}.sql, line 3: a marker is misspelt. Write "${UP}" or "${DOWN}".`,
  ]);
});

it.each(['<<<<<<< HEAD', '=======', '>>>>>>> theirs', '||||||| 1a2b3c4'])(
  'reports the conflict marker %j with its line',
  async (line) => {
    expect(await faultsOf(`${UP}\n${line}\r\nselect 1;`)).toEqual([
      `${NAME}.sql, line 2: a conflict of git is not resolved. Keep the right lines only.`,
    ]);
    expect(await faultsOf(`${line}\n${UP}\nselect 1;`)).toEqual([expect.stringContaining('.sql, line 1: a conflict')]);
  },
);

it('reports all faults of all files together', async () => {
  // 20261399000000 is no time, because there is no month 13
  for (const name of ['0001_a', '0001_b', '20261399000000_c', 'readme'])
    writeFileSync(join(severalFiles, `${name}.sql`), 'x');
  const needed = 'a name such as 20261127120000_add_order_type.sql is needed.';
  expect(await findFaults(severalFiles)).toEqual([
    `20261399000000_c.sql: ${needed}`,
    `readme.sql: ${needed}`,
    `0001_a.sql: the line "${UP}" is missing. Write it above the SQL.`,
    `0001_b.sql: the line "${UP}" is missing. Write it above the SQL.`,
  ]);
});

it.each([
  { encoding: 'latin1', text: 'ÿ' },
  { encoding: 'utf16le', text: 'y' }, // its bytes are also valid UTF-8: y and U+0000
] as const)('refuses a file in $encoding', async ({ encoding, text }) => {
  expect(await faultsOf(Buffer.from(`${UP}\n${text}`, encoding))).toEqual([
    `${NAME}.sql is not in UTF-8. Save it in that encoding.`,
  ]);
});

it('reports a folder that is named like a migration file', async () => {
  mkdirSync(join(folderInFolder, '0001_a.sql'));
  expect(await findFaults(folderInFolder)).toEqual([
    '0001_a.sql cannot be read (EISDIR). Make it a file that this user may read.',
  ]);
});

it.each([
  {
    what: 'a down marker before the up marker',
    text: `${DOWN}\na\n${UP}\nb`,
    message: `1: "${DOWN}" is in the wrong place. One line "${UP}" comes first`,
  },
  { what: 'a second up marker', text: `${UP}\na\n${UP}\nb`, message: `3: "${UP}" is in the wrong place.` },
  {
    what: 'a second down marker',
    text: `${UP}\na\n${DOWN}\nb\n${DOWN}`,
    message: `5: "${DOWN}" is in the wrong place.`,
  },
])('names the line of $what', async ({ text, message }) => {
  const [fault] = await faultsOf(text);
  expect(fault).toContain(`${NAME}.sql, line ${message}`);
});

it.each([
  { lineEnds: 'LF', newline: '\n', mark: '' },
  { lineEnds: 'CR LF, with a byte order mark', newline: '\r\n', mark: '\ufeff' },
])('keeps the line numbers of the file in both parts: $lineEnds', async ({ newline, mark }) => {
  const lines = ['-- why', UP, 'up;', '', DOWN, 'down'];
  writeFileSync(join(folder, `${NAME}.sql`), mark + lines.join(newline));
  expect(await readMigration(NAME, folder)).toEqual({
    name: NAME,
    up: '\n\nup;\n',
    down: '\n\n\n\n\ndown',
  });
});

it.each([
  { sql: '', has: false },
  { sql: '\n;\n  ; -- select 1;\n\t-- x', has: false },
  { sql: '-- x\nselect 1', has: true },
  { sql: '-- x\n; select 1;', has: true },
])('says whether there is a statement in "$sql": $has', ({ sql, has }) => {
  expect(hasStatement(sql)).toBe(has);
});
