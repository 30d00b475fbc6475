import { describe, expect, it } from '@jest/globals';
import { lineAt, statementsOf } from './sql-statements.js';

const texts = (sql: string): string[] => statementsOf(sql).map(({ text }) => text);

describe('statementsOf', () => {
  it.each([
    ['strings', `select ';', 'it''s; one'; select 2`, [`select ';', 'it''s; one'`, 'select 2']],
    [
      'strings with backslashes',
      `select E'it\\'s'; commit; select 'x';`,
      [`select E'it\\'s'`, 'commit', `select 'x'`],
    ],
    [
      'dollar quotes',
      'do $x$ begin commit; end $x$; select $1',
      ['do $x$ begin commit; end $x$', 'select $1'],
    ],
    ['quoted names', 'select 1 as "a;b"; select 2', ['select 1 as "a;b"', 'select 2']],
    [
      'comments',
      `-- a; b\nselect 1; /* it's /* nested; */ commit; */ select 2`,
      ['select 1', 'select 2'],
    ],
    [
      'bodies in standard SQL',
      'create function f() begin atomic select case when true then 1 end; end; select 2',
      ['create function f() begin atomic select case when true then 1 end; end', 'select 2'],
    ],
    ['nothing', ' ; -- x\n;', []],
  ])('knows %s', (_name, sql, statements) => {
    expect(texts(sql)).toEqual(statements);
  });

  it('tells where a statement begins', () => {
    const sql = '-- first\n\nselect 1;\n  select 2;';
    expect(statementsOf(sql).map(({ start }) => lineAt(sql, start))).toEqual([3, 4]);
  });
});
