import { hash } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Client, DatabaseError } from 'pg';
import { createDatabase } from '../support/database.js';

const database = await createDatabase();
const otherSession = await database.session();
let lastIdBefore: string;

/** Returns the changes that were recorded since the test began, in the order of their ids. */
function readHistory(columns = 'table_name, operation, old_row, new_row') {
  return database.query(`select ${columns} from change_history where id > $1`, [lastIdBefore]);
}

/** Returns the stamp of each topic (`codes` and `keys`), which is the revision of its content. */
async function readStamps(): Promise<Record<string, string>> {
  const rows = await database.query<{ topic: string; stamp: string }>('table revision');
  return Object.fromEntries(rows.map(({ topic, stamp }) => [topic, stamp]));
}

beforeEach(async () => {
  await database.query('truncate communication_code, api_key');
  const [row] = await database.query('select coalesce(max(id), 0) as max from history');
  lastIdBefore = String(row?.['max']);
});
afterAll(() => database.drop());

const ALWAYS = { valid_from: null, valid_until: null };
/** Matches a row of communication_code, also if the table gets further columns. */
const code = (name: string, description: string, bounds: object = ALWAYS): unknown =>
  expect.objectContaining({ code_type: 'T', code: name, description, ...bounds });
const INSERT = `insert into communication_code (code_type, code, description)
   values ('T', 'a', '1'), ('T', 'b', '2')`;

describe('change_history', () => {
  it('records each changed row with its old and its new content', async () => {
    await database.query(INSERT);
    await database.query(`update communication_code set code = code || 'x', description = '9'`);
    await database.query(`update communication_code set description = '9'`); // changes nothing
    await database.query(`delete from communication_code where code = 'ax'`);
    await database.query(`begin; ${INSERT}; rollback`);
    await database.query(`${INSERT}; truncate communication_code`);
    const table = { table_name: 'communication_code' };
    const [a, b] = [code('a', '1'), code('b', '2')];
    const recorded = await readHistory();
    const inOrder = [
      { ...table, operation: 'INSERT', old_row: null, new_row: a },
      { ...table, operation: 'INSERT', old_row: null, new_row: b },
      { ...table, operation: 'UPDATE', old_row: a, new_row: code('ax', '9') },
      { ...table, operation: 'UPDATE', old_row: b, new_row: code('bx', '9') },
      { ...table, operation: 'DELETE', old_row: code('ax', '9'), new_row: null },
      { ...table, operation: 'INSERT', old_row: null, new_row: a },
      { ...table, operation: 'INSERT', old_row: null, new_row: b },
    ];
    expect(recorded.slice(0, inOrder.length)).toEqual(inOrder);
    const truncated = { ...table, operation: 'TRUNCATE', new_row: null };
    const rows = [a, b, code('bx', '9')].map((row) => ({ ...truncated, old_row: row }));
    // TRUNCATE records the rows in any order
    expect(recorded.slice(inOrder.length)).toEqual(expect.arrayContaining(rows));
    expect(recorded).toHaveLength(inOrder.length + rows.length);
  });

  it('refuses a TRUNCATE in a transaction with an older snapshot, because the snapshot may lack rows', async () => {
    for (const level of ['repeatable read', 'serializable']) {
      await otherSession.query(`begin isolation level ${level}; select from code_list`);
      await database.query(`${INSERT} on conflict do nothing`);
      await expect(otherSession.query('truncate communication_code')).rejects.toThrow(
        'TRUNCATE of communication_code needs the isolation level READ COMMITTED',
      );
      await otherSession.query('rollback');
    }
    await database.query('truncate communication_code');
    expect(await readHistory('operation')).toEqual(
      ['INSERT', 'INSERT', 'TRUNCATE', 'TRUNCATE'].map((operation) => ({ operation })),
    );
  });

  it('records the time, the login, and the name that the session gives itself', async () => {
    await database.query(
      `begin; set local order_lookup.migration = '0042_add_codes'; set local order_lookup.person = 'Ada';
         ${INSERT}; select pg_sleep(0.1); delete from communication_code where code = 'a'; commit`,
    );
    await database.query(`delete from communication_code`);
    const who = { database_user: 'postgres', application: 'tests' };
    expect(await readHistory('database_user, application, migration, person')).toEqual([
      ...Array(3).fill({ ...who, migration: '0042_add_codes', person: 'Ada' }),
      { ...who, migration: null, person: null },
    ]);
    const [row] = await readHistory(
      `count(distinct transaction_id) as transactions, count(distinct begun_at) as begins,
       extract(epoch from min(changed_at) filter (where operation = 'DELETE') - min(begun_at)) >= 0.1 as deleted_later`,
    );
    expect(row).toEqual({ transactions: '2', begins: '2', deleted_later: true });
  });

  it('records rows in the same form under any settings of the session', async () => {
    const insert = `insert into public.communication_code
       values ('T', 'a', '1', '2030-01-01T00:00:00z', '2031-01-01T00:00:00z')`;
    await database.query(
      `begin; set local timezone = 'Asia/Tokyo'; set local datestyle = 'German';
         set local search_path = pg_temp; ${insert}; commit`,
    );
    const bounds = {
      valid_from: '2030-01-01T00:00:00+00:00',
      valid_until: '2031-01-01T00:00:00+00:00',
    };
    expect(await readHistory('new_row')).toEqual([{ new_row: code('a', '1', bounds) }]);
  });

  it('never contains the hash of a key, and shows that a hash was exchanged', async () => {
    await database.query(`insert into api_key (client, key_hash) values ('c', sha256('1'))`);
    await database.query(`update api_key set key_hash = sha256('2')`);
    await database.query('delete from api_key');
    await database.query(`insert into api_key (client, key_hash) values ('d', sha256('3'))`);
    await database.query('truncate api_key');
    const rows = await database.query<{ operation: string; text: string }>(
      `select operation, to_jsonb(h)::text as text from history h where id > $1 order by id`,
      [lastIdBefore],
    );
    const operations = rows.map(({ operation }) => operation);
    expect(operations).toEqual(['INSERT', 'UPDATE', 'DELETE', 'INSERT', 'TRUNCATE']);
    const hashes = ['1', '2', '3'].map((key) => hash('sha256', key, 'hex'));
    for (const { text } of rows) for (const secret of ['key_hash', ...hashes]) expect(text).not.toContain(secret);
  });

  it('records 2,000 changed rows without a nested loop, also after statements that change one row', async () => {
    const session = await database.session();
    const plans: string[] = [];
    session.on('notice', ({ message = '' }) => plans.push(message));
    await session.query(
      `load 'auto_explain'; set auto_explain.log_min_duration = 0;
       set auto_explain.log_nested_statements = on; set client_min_messages = log`,
    );
    // The session keeps the plan that it made for one row. A nested loop in this plan would be slow for many rows
    const changeOneRow = `update communication_code set description = description || '.' where code = '1'; `;
    await session.query(
      `insert into communication_code (code_type, code, description) select 'T', n::text, 'D'
         from generate_series(1, 2000) n;
       ${changeOneRow.repeat(10)} update communication_code set description = 'all'`,
    );
    const joins = plans.filter((text) => text.includes('old_rows') && text.includes('new_rows'));
    expect(joins.length).toBeGreaterThan(10);
    expect(joins.filter((text) => /Nested Loop/.test(text))).toEqual([]);
    expect((await readHistory('count(*)::int as rows'))[0]).toEqual({ rows: 2_000 + 10 + 2_000 });
  });
});

/** The SQLSTATE of a conflict after which a client repeats its transaction. Read committed has no such conflicts. */
const SERIALIZATION_FAILURE = '40001';

describe('the stamp of a topic', () => {
  const addKey = (client: string) => `insert into api_key (client, key_hash) values ('${client}', sha256('${client}'))`;
  const addCode = `insert into communication_code (code_type, code, description) values ('T', 'new', 'D')`;

  it.each([
    {
      what: 'statements that change codes',
      topics: ['codes'],
      preparation: [],
      statements: [
        `insert into code_list (name) values ('extra')`,
        `insert into code_list_value (code_list, value) values ('extra', 'A')`,
        `update code_list_value set valid_until = now() where code_list = 'extra'`,
        `insert into area_property (area, property, code_list) values ('order-update', 'extra', 'extra')`,
        `update area_property set property = 'more' where property = 'extra'`,
        `delete from area_property where property = 'more'`,
        `delete from code_list where name = 'extra'`,
        `${addCode}; truncate communication_code`,
        `set session_replication_role = replica; ${addCode}; reset session_replication_role`,
        `begin; ${addCode} on conflict do nothing; savepoint s; delete from communication_code; rollback to s;
           update communication_code set description = 'X'; commit`,
      ],
    },
    {
      what: 'statements that change API keys',
      topics: ['keys'],
      preparation: [],
      statements: [addKey('A'), `update api_key set revoked_at = now()`, `${addKey('C')}; truncate api_key`],
    },
    {
      what: 'statements that change neither',
      topics: [],
      preparation: [INSERT, addKey('B')],
      statements: [
        `begin; ${addCode}; rollback`,
        `update communication_code set description = description`,
        'update code_list_value set position = position',
        `update pgmigrations set name = name || '.'`,
        `insert into api_key_use select id, now() from api_key`,
        'vacuum (full, analyze) communication_code',
      ],
    },
  ])('changes if and only if the content of the topic changes: $what', async ({ topics, preparation, statements }) => {
    for (const sql of preparation) await database.query(sql);
    for (const sql of statements) {
      const before = await readStamps();
      await database.query(sql);
      const after = await readStamps();
      const changed = Object.keys(after).filter((topic) => after[topic] !== before[topic]);
      expect([sql, ...changed]).toEqual([sql, ...topics]); // with `sql`, so that a failure shows the statement
    }
  });

  it.each([
    `insert into pgmigrations (name, run_on) values ('0043', now())`,
    `delete from pgmigrations where name = '0043'`,
  ])('changes with each migration, for codes and for keys, because DDL may have changed either: %s', async (sql) => {
    const before = await readStamps();
    await database.query(sql);
    const after = await readStamps();
    for (const topic of ['codes', 'keys']) expect(after[topic]).not.toBe(before[topic]);
  });

  it('is written once in a transaction, so that thousands of statements stay fast', async () => {
    const session = await database.session();
    const statement = `update communication_code set description = description || '.' where code = 'a'; `;
    await session.query(`begin; ${INSERT}; ${statement.repeat(100)}`);
    const { rows } = await session.query(
      `select n_tup_upd::int as versions from pg_stat_xact_user_tables where relname = 'revision'`,
    );
    await session.query('commit');
    expect(rows).toEqual([{ versions: 1 }]);
    expect(await readHistory('operation')).toHaveLength(2 + 100);
  });

  it.each(['read committed', 'repeatable read', 'serializable'])(
    'causes no deadlock at the level %s if four writers change rows in the same order',
    async (level) => {
      await database.query(
        `insert into communication_code (code_type, code, description) select 'T', 'R' || n, 'D'
           from generate_series(0, 9) n on conflict do nothing`,
      );
      const outcomes: string[] = [];
      const write = async (writer: number): Promise<void> => {
        const session = await database.session();
        await session.query(`set deadlock_timeout = '10ms'`); // by default PostgreSQL notices a deadlock after a second
        for (let round = writer; round < writer + 40; round++)
          outcomes.push(await updateThreeRows(session, level, round));
      };
      await Promise.all([0, 1, 2, 3].map(write));
      const committed = outcomes.filter((outcome) => outcome === 'committed');
      expect(committed.length).toBeGreaterThan(20);
      const isRetried = level !== 'read committed';
      const expected = isRetried ? ['committed', SERIALIZATION_FAILURE] : ['committed'];
      expect(outcomes.filter((outcome) => !expected.includes(outcome))).toEqual([]);
    },
  );

  /** Updates three rows in ascending order, in one transaction. Returns the SQLSTATE if the transaction fails. */
  async function updateThreeRows(session: Client, level: string, round: number): Promise<string> {
    const statements = [round % 4, 4 + (round % 3), 7 + (round % 2)].map(
      (row) => `update communication_code set description = '${round}' where code = 'R${row}'`,
    );
    try {
      await session.query(`begin isolation level ${level}`);
      for (const statement of statements) await session.query(statement);
      await session.query('commit');
      return 'committed';
    } catch (error) {
      await session.query('rollback');
      return String((error as DatabaseError).code);
    }
  }
});

describe('the functions of the triggers', () => {
  it('never call a function of somebody else that has the name of a function of PostgreSQL', async () => {
    // The types of these functions fit better than those of PostgreSQL, and the search_path names their schema first
    await database.query(
      `create function public.to_jsonb(public.communication_code) returns jsonb language sql
         as $$ select '"foreign"'::jsonb $$;
       create function public.length(text) returns int language plpgsql as $$ begin raise exception 'foreign'; end $$;
       create function public.hashtextextended(text, int) returns bigint language plpgsql
       as $$ begin raise exception 'foreign'; end $$;
       create function public.clock_timestamp() returns timestamptz language plpgsql
       as $$ begin raise exception 'foreign'; end $$;
       create function public.gen_random_uuid() returns uuid language plpgsql
       as $$ begin raise exception 'foreign'; end $$`,
    );
    try {
      await otherSession.query(
        `set search_path = public, pg_catalog; ${INSERT};
           insert into code_list_value (code_list, value) values ('orderType', 'New'); truncate communication_code`,
      );
    } finally {
      await database.query(
        `drop function public.to_jsonb(public.communication_code), public.length(text),
           public.hashtextextended(text, int), public.clock_timestamp(), public.gen_random_uuid()`,
      );
    }
    expect(await readHistory('operation')).toHaveLength(2 + 1 + 2); // two codes, a value, and two truncated codes
    expect(JSON.stringify(await readHistory())).not.toContain('foreign');
  });
});
