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
  it('has a way up, and perhaps a way back', async () => {
    expect(await read('-- why', UP, 'a;', `${DOWN}  `, 'c')).toEqual([
      { name: '0001_x', hasWayBack: true },
    ]);
    for (const lines of [
      [UP, 'a'],
      ['\ufeff-- Up Migration\r', 'a\r', `${DOWN}\r`, '-- none'],
      [UP, '-- step down the values', '-- what the migration does', '-- look up', 'select down;'],
    ])
      expect(await read(...lines)).toEqual([{ name: '0001_x', hasWayBack: false }]);
  });

  it.each([
    ...['-- up migration', '--Up Migration', '-- Up Migration:', '-- UP MIGRATION'],
    ...['  -- Up Migration', '-- Up  Migration', '-- Up Migrations', '-- Up Migraton'],
    ...['-- Dwon Migration', '-- Down Migratoin', '--- Down Migration', '# Down Migration'],
    ...['/* Down Migration */', 'Down Migration', '-- Down Migration of the list'],
  ])('may not hold %j, which looks like a marker', async (line) => {
    await expect(read(UP, 'select 1;', line, 'select 2;')).rejects.toThrow(
      /^0001_x\.sql, line 3: ".*" looks like a marker, but is none\./,
    );
  });

  it.each<[string[], RegExp]>([
    [['select 1;'], /^0001_x\.sql has no line "-- Up Migration"/],
    [[DOWN, 'a', UP, 'b'], /^0001_x\.sql, line 3: .* stands before/],
    [[UP, 'a', UP, 'b'], /^0001_x\.sql, line 3: .* twice/],
    [[UP, 'a', DOWN, 'b', DOWN], /^0001_x\.sql, line 5: .* twice/],
    [['select 1;', UP, 'a'], /^0001_x\.sql, line 1: only comments/],
    [[UP, '-- nothing', DOWN, 'a'], /^0001_x\.sql has no statement below "-- Up Migration"/],
    [[UP, 'select 1;', 'COMMIT and chain;'], /^0001_x\.sql, line 3: "commit and chain" begins or/],
    [[UP, 'a', DOWN, '', '/**/ end;'], /^0001_x\.sql, line 5: "end" begins or ends/],
  ])('is refused where it is wrong: %j', async (lines, said) => {
    await expect(read(...lines)).rejects.toThrow(said);
  });
});
