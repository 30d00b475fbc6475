import { describe, expect, it } from '@jest/globals';
import { isTransactionControl, statementsOf } from './sql-statements.js';

/** The scripts hide every COMMIT but those on which the server would act. */
const controls = (sql: string): number => statementsOf(sql).filter(isTransactionControl).length;

describe('statementsOf', () => {
  it.each([
    ['strings', `select '; commit;', 'it''s; commit'; commit; select 2`, 1],
    ['strings with backslashes', `select E'it\\'s; commit;'; commit; select 'x';`, 1],
    ['a string that goes on in the next line', `select E'a'\n '\\''; commit; select '';`, 1],
    ['dollar quotes', 'do $x$ begin commit; end $x$; select $1', 0],
    ['quoted names', 'select 1 as "a; commit;"; end;', 1],
    ['comments', `-- a; commit;\nselect 1; /* it's /* nested; */ commit; */ select 2`, 0],
    ['a comment that a carriage return ends', '-- a\rcommit;', 1],
    ['comments between the words', 'start /* a -- */ transaction; rollback--\n;', 2],
    ['names with dollars', 'select a$b$c; commit; select 1 as b$b$', 1],
    ['prefixed names', `select nameE'\\'; commit; select 2`, 1],
    [
      'bodies in standard SQL',
      'create function f() begin atomic select case when true then 1 end; end; end;',
      1,
    ],
    ['what looks like such a body', 'select begin atomic from t; commit;', 1],
    ['savepoints', 'savepoint a; rollback to a; rollback work to savepoint a; release a', 0],
    ['other words', `prepare x as select 1; comments on; prepare transaction 'x'; abort`, 2],
    ['nothing', ' ; -- x\n;', 0],
  ])('knows %s', (_name, sql, expected) => {
    expect(controls(sql)).toBe(expected);
  });

  it('says where each begins', () => {
    const sql = '-- first\n\nselect 1;\n  select\n 2; /*\n*/ select 3';
    expect(statementsOf(sql).map(({ start }) => sql.slice(start, start + 8))).toEqual([
      'select 1',
      'select\n ',
      'select 3',
    ]);
  });

  it.each([
    ['rows', `('a type', 'a code', 'what it means, with it''s quotes; and more', null),\n`],
    ['escapes without an end', `E'it\\'s `],
    ['quotes', `E'a', `],
  ])('reads 10 MB of %s', (_name, row) => {
    const sql = `insert into t values ${row.repeat(10_000_000 / row.length)}`;
    expect(statementsOf(sql).length).toBeGreaterThan(0);
  });
});
