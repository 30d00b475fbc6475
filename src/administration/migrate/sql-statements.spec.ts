import { describe, expect, it } from '@jest/globals';
import { isTransactionControl, statementsOf } from './sql-statements.js';

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
    ['comments three deep', `/* /* /* ; */ */ ; */ commit; select 2`, ['commit', 'select 2']],
    [
      'a comment, string or body that is not closed, which the server refuses',
      `select 1; /* commit; select 2`,
      ['select 1', '/* commit; select 2'],
    ],
    ['names with dollars', 'select a$b$c; select 1 as b$b$', ['select a$b$c', 'select 1 as b$b$']],
    ['prefixed names', `select nameE'\\'; select 2`, [`select nameE'\\'`, 'select 2']],
    [
      'bodies in standard SQL',
      'create function f() begin atomic select case when true then 1 end; end; select 2',
      ['create function f() begin atomic select case when true then 1 end; end', 'select 2'],
    ],
    ['nothing', ' ; -- x\n;', []],
  ])('knows %s', (_name, sql, statements) => {
    expect(texts(sql)).toEqual(statements);
  });

  it('gives the line on which a statement begins', () => {
    const sql = '-- first\n\nselect 1;\n  select\n 2; /*\n*/ select 3';
    expect(statementsOf(sql).map(({ line }) => line)).toEqual([3, 4, 6]);
    expect(statementsOf(sql, 10).map(({ line }) => line)).toEqual([12, 13, 15]);
  });

  it('splits 10 MB', () => {
    const row = `('a type', 'a code', 'what it means, with it''s quotes; and more', null),\n`;
    const sql = `insert into t values ${row.repeat(130_000)} (1); select 1;`;
    expect(statementsOf(sql)).toHaveLength(2);
  });
});

describe('isTransactionControl', () => {
  it.each([
    ['commit', true],
    ['Commit and chain', true],
    ['end', true],
    ['rollback', true],
    ['abort', true],
    ['start /* a */ transaction', true],
    [`prepare transaction 'x'`, true],
    ['rollback to here', false],
    ['rollback work to savepoint here', false],
    ['savepoint here', false],
    ['prepare x as select 1', false],
    ['select 1', false],
    ['comments on', false],
  ])('%s: %s', (text, expected) => {
    expect(isTransactionControl({ text, line: 1 })).toBe(expected);
  });
});
