import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readMigrations } from './migration-files.js';

const UP = '-- Up Migration';
const DOWN = '-- Down Migration';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'migrations-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const read = (...lines: string[]) => {
  writeFileSync(join(folder, '0001_x.sql'), lines.join('\n'));
  return readMigrations(folder);
};

describe('a file of migrations', () => {
  it.each([
    [['-- why', UP, 'a;', `${DOWN}  `, 'c']],
    [['\ufeff-- Up Migration\r', 'a\r', `${DOWN}\r`, '-- what the migration does']],
    [
      [
        UP,
        'savepoint s; rollback to s;',
        'do $$ begin',
        'commit;',
        'end; $$;',
        `select '`,
        `end;'`,
      ],
    ],
    [
      [
        UP,
        'create function f() returns int begin atomic select 1; end;',
        'select case when a',
        'end;',
      ],
    ],
  ])('is taken: %j', async (lines) => {
    expect(await read(...lines)).toEqual(['0001_x']);
  });

  it.each([
    ...['-- up migration', '--Up Migration', '-- Up Migration:', '  -- Up Migration'],
    ...['-- Up  Migration', '-- Up Migrations', '-- Up Migraton', '-- Dwon Migration'],
    ...['--- Down Migration', '/* Down Migration */', 'Down Migration', UP],
  ])('may not hold %j on its third line', async (line) => {
    await expect(read(UP, 'select 1;', line, DOWN)).rejects.toThrow(
      /^0001_x\.sql, line 3: a file has one line "-- Up Migration", and .*"-- Down Migration"/,
    );
  });

  it('is refused in another encoding', async () => {
    writeFileSync(join(folder, '0001_x.sql'), Buffer.from(`${UP}\nÿ`, 'latin1'));
    await expect(readMigrations(folder)).rejects.toThrow('0001_x.sql is not in UTF-8. ');
  });

  it.each<[string[], string]>([
    [['select 1;'], '1: a file has one line "-- Up Migration"'],
    [[DOWN, 'a', UP, 'b'], '1: a file has one line'],
    [[UP, 'a', DOWN, 'b', DOWN], '5: a file has one line'],
    [[UP, 'select 1;', 'COMMIT and chain;'], '3: "commit" begins or ends a transaction'],
    [[UP, 'a', DOWN, '', '/**/ end;'], '5: "end" begins or ends a transaction'],
  ])('is refused where it is wrong: %j', async (lines, said) => {
    await expect(read(...lines)).rejects.toThrow(`0001_x.sql, line ${said}`);
  });
});
