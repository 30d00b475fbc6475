import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { testFolder } from '../../../test/support/test-folder.js';
import { readMigrations } from './migration-files.js';

const UP = '-- Up Migration';
const DOWN = '-- Down Migration';

const [folder, several] = [testFolder(), testFolder()];
const read = (text: string) => {
  writeFileSync(join(folder, '0001_x.sql'), text);
  return readMigrations(folder);
};

it.each([
  `-- why\n${UP}\na;\n${DOWN}  \nc`,
  `\ufeff${UP}\r\na\r\n${DOWN}\r\n-- what the migration does`,
])('a file of migrations is taken: %j', async (text) => {
  expect(await read(text)).toEqual(['0001_x']);
});

it.each([
  ...['-- up migration', '--Up Migration', '-- Up Migration:', '  -- Up Migration'],
  ...['-- Up  Migration', '-- Up Migrations', '-- Up Migraton', '-- Dwon Migration'],
  ...['--- Down Migration', '/* Down Migration */', 'Down Migration', UP],
])('a file of migrations may not hold %j on its third line', async (line) => {
  await expect(read(`${UP}\nselect 1;\n${line}\n${DOWN}`)).rejects.toThrow(
    /^0001_x\.sql, line 3: a file has one line "-- Up Migration", and .*"-- Down Migration"/,
  );
});

it('all faults of all files are told at once', async () => {
  for (const name of ['0001_a', '0001_b']) writeFileSync(join(several, `${name}.sql`), 'x');
  const all = /^0001_a\.sql and 0001_b\.sql .*\n0001_a\.sql, .*\n0001_b\.sql, line 1: .*$/;
  await expect(readMigrations(several)).rejects.toThrow(all);
});

it('a file of migrations is refused in another encoding', async () => {
  writeFileSync(join(folder, '0001_x.sql'), Buffer.from(`${UP}\nÿ`, 'latin1'));
  await expect(readMigrations(folder)).rejects.toThrow('0001_x.sql is not in UTF-8. ');
});

it.each([
  ['select 1;', '1: a file has one line "-- Up Migration"'],
  [`${DOWN}\na\n${UP}\nb`, '1: a file has one line'],
  [`${UP}\na\n${DOWN}\nb\n${DOWN}`, '5: a file has one line'],
])('a file of migrations is refused where it is wrong: %j', async (text, message) => {
  await expect(read(text)).rejects.toThrow(`0001_x.sql, line ${message}`);
});
