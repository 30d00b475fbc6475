import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type * as Plan from '../../../src/administration/migrate/plan/make-plan.js';
import type * as Run from '../../../src/administration/migrate/run-migrations.js';
import { testCopy } from '../../support/test-copy.js';

const { copy, database } = await testCopy();
process.env['DATABASE_URL'] = database.url;
// The program without a process for each file
const folder = join(copy.folder, 'dist/administration/migrate');
const { planUp } = (await import(join(folder, 'plan/make-plan.js'))) as typeof Plan;
const { applyPending, undo } = (await import(join(folder, 'run-migrations.js'))) as typeof Run;
await database.query(`create procedure commits() language plpgsql as $$ begin commit; end $$;
  create function fails() returns int language plpgsql as $$ begin\n\n\n\n\n return nothing; end $$`);

const contents = () =>
  database.query(
    `select value from code_list_value union all select name from pgmigrations
     union all select relname from pg_class where relnamespace = 'public'::regnamespace order by 1`,
  );
const DELETE = 'delete from code_list_value;';
const TRANSACTION =
  /^0100_x\.sql: EXECUTE of transaction commands is not implemented\n {2}A migration is one transaction\. Take out /;
const TERMINATION = /: invalid transaction termination\n/;
const ALONE = /cannot run inside a transaction block/;
const ATOMIC = 'returns int begin atomic select 1; end;';
const row = `('A', 'B', 'it''s a description of some length, so that the file is large'),\n`;

describe('a file that PostgreSQL refuses changes nothing, in plan and in up', () => {
  it.each<[kind: string, up: string, message: RegExp]>([
    ['commit', `${DELETE} commit;`, TRANSACTION],
    ['commit and chain', `${DELETE} COMMIT AND CHAIN;`, TRANSACTION],
    ['end', `${DELETE} /**/ end;`, TRANSACTION],
    ['rollback', `rollback; ${DELETE}`, TRANSACTION],
    ['rollback and chain', `rollback and chain; ${DELETE}`, TRANSACTION],
    ['begin read write', `rollback; begin read write; ${DELETE} commit; begin;`, TRANSACTION],
    ['start transaction', `start transaction; ${DELETE}`, TRANSACTION],
    ['prepare transaction', `${DELETE} prepare transaction 'x';`, TRANSACTION],
    ['savepoint', `savepoint s; ${DELETE} rollback to s;`, TRANSACTION],
    ['commit behind E and a quote', `${DELETE} select E'\\''; commit; select E'\\'';`, TRANSACTION],
    ['a do block with commit', `${DELETE} do $$ begin commit; end $$;`, TERMINATION],
    ['a do block that executes it', `${DELETE} do $$ begin execute 'commit'; end $$;`, TRANSACTION],
    ['a procedure that commits', `${DELETE} call commits();`, TERMINATION],
    ['copy from stdin', 'copy code_list from stdin;', /: cannot COPY to\/from client [^]*insert/],
    ['vacuum', 'vacuum;', ALONE],
    ['create index concurrently', 'create index concurrently i on code_list (name);', ALONE],
    ['discard all', 'discard all;', ALONE],
    ['set transaction read only', 'set transaction read only;', /read-only transaction/],
    ['a string that never ends', `${DELETE}\n\nselect 'it;`, /, line 4: unterminated quoted/],
    [
      'one behind E, in a large file',
      `select E'it;\n${`insert into code_list values ('a');\n`.repeat(20_000)}`,
      /^0100_x\.sql, line \d+: (unterminated quoted string|syntax error)[^]{0,500}$/,
    ],
    ['nothing', '', /^0100_x\.sql has no statement on the way up/],
    ['nothing but a comment', '-- nothing', /^0100_x\.sql has no statement on the way up/],
    [
      'a wrong row',
      `insert into code_list (name) values ('good');
       insert into code_list_value (code_list, value) values ('good', ' padded');`,
      /^0100_x\.sql: .*"code_list_value_is_clean_text_of_256_characters"\n {2}Failing row .*$/,
    ],
    [
      '10 MB of rows, the last of which is wrong',
      `insert into communication_code (code_type, code, description) values\n${row.repeat(140_000)}('A', ' ', 'x');`,
      /^0100_x\.sql: [^]{0,1500}$/,
    ],
    [
      'a deferred constraint',
      `update code_list_value set position = 1 where value = 'Return';`,
      /^0100_x\.sql: .*"code_list_value_position_is_unique_in_its_list"\n {2}Key .*$/,
    ],
    ['an unknown table', `select 1;\nselect 1;\nselect nope;`, /, line 4: column "nope"/],
    ['an error inside a function', 'select 1;\nselect fails();', /^0100_x\.sql: column/],
  ])('%s', async (_kind, up, message) => {
    copy.add('0100_x', up);
    const before = await contents();
    await expect(planUp()).rejects.toThrow(message);
    await expect(applyPending()).rejects.toThrow(message);
    expect(await contents()).toEqual(before);
  });

  it.each([
    ['behind a byte order mark and CRLF', '\ufeff-- Up Migration\r\n\r\nselect 1;\r\nselec 2;\r\n'],
    ['behind a comment and CRLF', '-- why\r\n-- Up Migration\r\n\r\nselec 2;\r\n'],
    ['behind emoji', `-- Up Migration\nselect '${'😀'.repeat(60)}';\n\nselec 2;`],
  ])('and the line is right %s', async (_where, text) => {
    copy.write('0100_x', text);
    await expect(applyPending()).rejects.toThrow(
      '0100_x.sql, line 4: syntax error at or near "selec"',
    );
  });
});

describe('a file that looks alike is applied, as its plan says', () => {
  it.each<[kind: string, up: string, down?: string]>([
    ['commit in a string', `select E'it\\'s; commit; x', 'a\n; commit; b';`],
    ['nested comments', '/* /* ; commit; */ ; commit; */ select 1;'],
    ['dollar quotes', 'select $a$ ; commit; $b$ ; commit; $a$;'],
    ['begin atomic', `create function g() ${ATOMIC}`, 'drop function g;'],
    ['set session authorization', 'set session authorization order_lookup_service; select 1;'],
    ['a role, and all settings reset', 'set role order_lookup_service; reset all; select 1;'],
    [
      'a new table, its rows and its index',
      'create table t (a int); insert into t values (1); create index on t (a); analyze t; select * from t',
      'drop table t;',
    ],
    ['select into, the last statement', 'select 1 as a into t', 'drop table t;'],
    ['prepared statements', 'prepare p as select 1; execute p; deallocate p;'],
    ['a part that is undone', 'do $$ begin select 1 / 0; exception when others then null; end $$;'],
    ['20,000 statements', `update code_list set name = name where name = 'x';\n`.repeat(20_000)],
  ])('%s', async (_kind, up, down = 'select 1;') => {
    copy.add('0100_x', up, down);
    const before = await contents();
    expect(await planUp()).toMatchObject({ migrations: ['0100_x'], refusals: [] });
    expect(await contents()).toEqual(before);
    expect(await applyPending()).toEqual(['0100_x']);
    expect(await undo(['0100_x'])).toEqual(['0100_x']);
    expect(await contents()).toEqual(before);
  });
});
