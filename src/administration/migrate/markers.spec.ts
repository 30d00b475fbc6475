import { describe, expect, it } from '@jest/globals';
import { splitByMarkers } from './markers.js';

const UP = '-- Up Migration';
const DOWN = '-- Down Migration';
const split = (...lines: string[]) => splitByMarkers('0001_x.sql', lines.join('\n'));

describe('splitByMarkers', () => {
  it('gives both parts with the lines on which they begin', () => {
    expect(split('-- why', UP, 'a', 'b', `${DOWN}  `, 'c')).toEqual({
      up: { sql: 'a\nb', line: 3 },
      down: { sql: 'c', line: 6 },
    });
    expect(split(UP, 'a')).toEqual({
      up: { sql: 'a', line: 2 },
      down: { sql: '', line: 4 },
    });
  });

  it.each([
    ['-- up migration'],
    ['--Up Migration'],
    ['-- Up Migration:'],
    ['-- UP MIGRATION'],
    ['  -- Up Migration'],
    ['-- Up  Migration'],
    ['-- Up Migrations'],
    ['-- Up Migraton'],
    ['-- Dwon Migration'],
    ['-- Down Migratoin'],
    ['--- Down Migration'],
    ['# Down Migration'],
    ['/* Down Migration */'],
    ['Down Migration'],
    ['-- migrate:down'],
    ['-- +migrate Down'],
    ['-- Down'],
    ['-- @DOWN'],
  ])('takes %j for a marker that was meant', (line) => {
    expect(() => split(UP, 'select 1;', line, 'select 2;')).toThrow(
      new RegExp(`^0001_x\\.sql, line 3: ".*" looks like a marker, but is none\\.`),
    );
  });

  it.each([
    ['-- step down the values behind it'],
    ['-- what the migration does'],
    ['-- look up the list'],
    ['select down;'],
  ])('takes %j for what it is', (line) => {
    expect(split(UP, line).up.sql).toBe(line);
  });

  it.each<[string[], RegExp]>([
    [['select 1;'], /^0001_x\.sql has no line "-- Up Migration"/],
    [[DOWN, 'a', UP, 'b'], /^0001_x\.sql, line 1: .* stands before/],
    [[UP, 'a', UP, 'b'], /^0001_x\.sql, line 3: .* twice/],
    [[UP, 'a', DOWN, 'b', DOWN], /^0001_x\.sql, line 5: .* twice/],
    [[UP, 'a', DOWN, 'b', UP], /^0001_x\.sql, line 5: .* twice/],
    [['select 1;', UP, 'a'], /^0001_x\.sql, line 1: only comments/],
  ])('refuses %j', (lines, said) => {
    expect(() => split(...lines)).toThrow(said);
  });
});
