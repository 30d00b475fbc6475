import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type * as Connection from '../../../src/administration/cli/connection.js';
import type * as Planning from '../../../src/administration/migrate/plan.js';
import type * as Run from '../../../src/administration/migrate/run-migrations.js';
import { useProgramCopy } from '../../support/project-copy.js';

const { copy, database } = await useProgramCopy();
const address = { DATABASE_URL: database.url };
// The functions are called in this process, because a process for each file would take too long
const folder = join(copy.folder, 'dist/administration/migrate');
const { planUp } = (await import(join(folder, 'plan.js'))) as typeof Planning;
const { applyPending, undo } = (await import(join(folder, 'run-migrations.js'))) as typeof Run;
const { withDatabase } = (await import(join(folder, '../cli/connection.js'))) as typeof Connection;
await database.query(`create procedure commits() language plpgsql as $$ begin commit; end $$;
  create function fails_on_line_6() returns int language plpgsql as $$ begin\n\n\n\n\n return nothing; end $$`);

/** Returns what the files below may change: rows of three tables, applied migrations, and the names of all tables. */
const readContents = () =>
  database.query(
    `select t::text from code_list t union all select t::text from code_list_value t
     union all select t::text from communication_code t union all select name from pgmigrations
     union all select relname from pg_class where relnamespace = 'public'::regnamespace order by 1`,
  );
const DELETE_VALUES = 'delete from code_list_value;';
const TRANSACTION_COMMAND =
  /^0100_x\.sql: EXECUTE of transaction commands is not implemented\n {2}A migration is one transaction\. Remove /;
const TRANSACTION_ENDED = /: invalid transaction termination\n/;
const MUST_RUN_ALONE = /cannot run inside a transaction block/;
const LONG_ROW = `('A', 'B', 'it''s a description of some length, so that the file is large'),\n`;

// `copy.add` writes the marker `-- Up Migration` into line 1, so the SQL begins in line 2
describe('a faulty migration is refused', () => {
  it.each([
    { kind: 'commit', up: `${DELETE_VALUES} commit;`, message: TRANSACTION_COMMAND },
    { kind: 'commit and chain', up: `${DELETE_VALUES} COMMIT AND CHAIN;`, message: TRANSACTION_COMMAND },
    { kind: 'end', up: `${DELETE_VALUES} /**/ end;`, message: TRANSACTION_COMMAND },
    { kind: 'rollback', up: `rollback; ${DELETE_VALUES}`, message: TRANSACTION_COMMAND },
    { kind: 'rollback and chain', up: `rollback and chain; ${DELETE_VALUES}`, message: TRANSACTION_COMMAND },
    {
      kind: 'begin read write',
      up: `rollback; begin read write; ${DELETE_VALUES} commit; begin;`,
      message: TRANSACTION_COMMAND,
    },
    { kind: 'start transaction', up: `start transaction; ${DELETE_VALUES}`, message: TRANSACTION_COMMAND },
    { kind: 'prepare transaction', up: `${DELETE_VALUES} prepare transaction 'x';`, message: TRANSACTION_COMMAND },
    { kind: 'savepoint', up: `savepoint s; ${DELETE_VALUES} rollback to s;`, message: TRANSACTION_COMMAND },
    {
      kind: 'commit after an escape string',
      up: `${DELETE_VALUES} select E'\\''; commit; select E'\\'';`,
      message: TRANSACTION_COMMAND,
    },
    {
      kind: 'a do block with commit',
      up: `${DELETE_VALUES} do $$ begin commit; end $$;`,
      message: TRANSACTION_ENDED,
    },
    {
      kind: 'a do block that executes commit',
      up: `${DELETE_VALUES} do $$ begin execute 'commit'; end $$;`,
      message: TRANSACTION_COMMAND,
    },
    { kind: 'a procedure that commits', up: `${DELETE_VALUES} call commits();`, message: TRANSACTION_ENDED },
    {
      kind: 'copy from stdin',
      up: 'copy code_list from stdin;',
      message: /: cannot COPY to\/from client [^]*insert/,
    },
    { kind: 'vacuum', up: 'vacuum;', message: MUST_RUN_ALONE },
    {
      kind: 'create index concurrently',
      up: 'create index concurrently i on code_list (name);',
      message: MUST_RUN_ALONE,
    },
    { kind: 'discard all', up: 'discard all;', message: MUST_RUN_ALONE },
    {
      kind: 'a string that never ends',
      up: `${DELETE_VALUES}\n\nselect 'it;`,
      message: /, line 4: unterminated quoted/,
    },
    {
      kind: 'an escape string that never ends, in a large file that the message does not repeat',
      up: `select E'it;\n${`insert into code_list values ('a');\n`.repeat(20_000)}`,
      message: /^0100_x\.sql, line \d+: (unterminated quoted string|syntax error)[^]{0,500}$/,
    },
    { kind: 'no SQL', up: '', message: /^0100_x\.sql has no statement on the way up/ },
    {
      kind: 'only a comment',
      up: '-- nothing',
      message: /^0100_x\.sql has no statement on the way up/,
    },
    {
      kind: 'a wrong row',
      up: `insert into code_list (name) values ('good');
       insert into code_list_value (code_list, value) values ('good', ' padded');`,
      message: /^0100_x\.sql: .*"code_list_value_is_clean_text_of_256_characters"\n {2}Failing row .*$/,
    },
    {
      kind: '20,000 equal rows, which the message does not repeat',
      up: `insert into communication_code values\n${LONG_ROW.repeat(20_000)}('A', ' ', 'x');`,
      message: /^0100_x\.sql: [^]{0,1500}$/,
    },
    {
      kind: 'a violation of a deferred constraint',
      up: `update code_list_value set position = 1 where value = 'Return';`,
      message: /^0100_x\.sql: .*"code_list_value_position_is_unique_in_its_list"\n {2}Key .*$/,
    },
    {
      kind: 'an unknown column',
      up: `select 1;\nselect 1;\nselect nope;`,
      message: /, line 4: column "nope"/,
    },
    {
      kind: 'an error inside a function, whose line is not named as a line of the file',
      up: 'select 1;\nselect fails_on_line_6();',
      message: /^0100_x\.sql: column/,
    },
  ])('by plan and by up, and nothing is changed: $kind', async ({ up, message }) => {
    copy.add('0100_x', up);
    const before = await readContents();
    await expect(planUp(address)).rejects.toThrow(message);
    await expect(applyPending(address)).rejects.toThrow(message);
    expect(await readContents()).toEqual(before);
  });

  // This migration fails when node-pg-migrate writes its row into pgmigrations. `plan` writes no such row
  it('by up, while plan accepts it: set transaction read only', async () => {
    copy.add('0100_x', 'set transaction read only;');
    expect(await planUp(address)).toMatchObject({ migrations: ['0100_x'], refusals: [] });
    await expect(applyPending(address)).rejects.toThrow('0100_x.sql: cannot execute INSERT in a read-only transaction');
  });

  it.each([
    { what: 'U+00A0', sql: 'insert\u00a0into code_list values (1);', shown: String.raw`near "insert\u00a0into"` },
    { what: 'U+200B', sql: 'select 1;\n\u200bselect 1;', shown: String.raw`near "\u200bselect"` },
    { what: 'U+FEFF', sql: 'select 1;\n\nselect nope\ufeff;', shown: String.raw`column "nope\ufeff"` },
  ])('with the line of an invisible character, which the message shows as an escape: $what', async ({ sql, shown }) => {
    copy.add('0100_x', sql);
    const line = 1 + sql.split('\n').length;
    const message = expect.objectContaining({
      message: expect.stringMatching(new RegExp(`^0100_x\\.sql, line ${line}: `)),
    });
    await expect(applyPending(address)).rejects.toEqual(message);
    await expect(applyPending(address)).rejects.toThrow(shown);
    await expect(planUp(address)).rejects.toThrow(shown);
  });

  it.each([
    {
      where: 'after a byte order mark and CRLF',
      text: '\ufeff-- Up Migration\r\n\r\nselect 1;\r\nselec 2;\r\n',
    },
    { where: 'after a comment and CRLF', text: '-- why\r\n-- Up Migration\r\n\r\nselec 2;\r\n' },
    { where: 'after emoji', text: `-- Up Migration\nselect '${'😀'.repeat(60)}';\n\nselec 2;` },
  ])('with the line of a syntax error $where', async ({ text }) => {
    copy.write('0100_x', text);
    await expect(applyPending(address)).rejects.toThrow('0100_x.sql, line 4: syntax error at or near "selec"');
  });
});

describe('plan and up accept, and down undoes, a migration with', () => {
  it.each([
    { kind: 'commit in a string', up: `select E'it\\'s; commit; x', 'a\n; commit; b';` },
    { kind: 'nested comments', up: '/* /* ; commit; */ ; commit; */ select 1;' },
    { kind: 'dollar quotes', up: 'select $a$ ; commit; $b$ ; commit; $a$;' },
    {
      kind: 'begin atomic',
      up: 'create function g() returns int begin atomic select 1; end;',
      down: 'drop function g;',
    },
    {
      kind: 'set session authorization',
      up: 'set session authorization order_lookup_service; select 1;',
    },
    {
      kind: 'set role and reset all',
      up: 'set role order_lookup_service; reset all; select 1;',
    },
    {
      kind: 'a new table, its rows and its index',
      up: 'create table t (a int); insert into t values (1); create index on t (a); analyze t; select * from t',
      down: 'drop table t;',
    },
    { kind: 'select into as the last statement', up: 'select 1 as a into t', down: 'drop table t;' },
    { kind: 'prepared statements', up: 'prepare p as select 1; execute p; deallocate p;' },
    {
      kind: 'a do block that catches its error',
      up: 'do $$ begin select 1 / 0; exception when others then null; end $$;',
    },
    { kind: '20,000 statements', up: 'select 1;\n'.repeat(20_000) },
  ])('$kind', async ({ up, down = 'select 1;' }) => {
    copy.add('0100_x', up, down);
    const before = await readContents();
    expect(await planUp(address)).toMatchObject({ migrations: ['0100_x'], refusals: [] });
    expect(await readContents()).toEqual(before);
    expect(await applyPending(address)).toEqual(['0100_x']);
    expect(await withDatabase((used) => undo(used, ['0100_x']), address)).toEqual(['0100_x']);
    expect(await readContents()).toEqual(before);
  });
});
