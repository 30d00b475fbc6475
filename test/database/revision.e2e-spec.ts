// Two contents never have the same identity, whatever happens to the database, and no writer pays for it with waiting.
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { type TestDatabase, createDatabase } from '../support/database.js';
import { undisturbed } from '../support/undisturbed.js';

type Topic = 'codes' | 'keys';

let database: TestDatabase;
const clients: Client[] = [];

async function open(): Promise<Client> {
  const client = new Client(database.url);
  clients.push(client);
  await client.connect();
  await client.query(`set lock_timeout = '500ms'`); // whoever waits for a revision fails
  return client;
}

const identity = async (topic: Topic): Promise<string> =>
  JSON.stringify(await database.query('select * from content_identity where topic = $1', [topic]));
const stamps = async (topic: Topic): Promise<string> => {
  const [row] = await database.query<{ stamps: string }>(
    `select transactions || ' ' || stamps as stamps from content_identity where topic = $1`,
    [topic],
  );
  return row?.stamps ?? '';
};
const transactions = async (topic: Topic): Promise<number> => {
  const [row] = await database.query<{ transactions: string }>(
    'select transactions from content_identity where topic = $1',
    [topic],
  );
  return Number(row?.transactions);
};
const gaps = async (): Promise<string[]> =>
  (await database.query<{ table_name: string }>('select table_name from record_gap')).map(
    ({ table_name: name }) => name,
  );
const addKey = (client: string) =>
  `insert into api_key (client, key_hash) values ('${client}', sha256('${client}'))`;
const addCode = (code: string) =>
  `insert into communication_code (code_type, code, description) values ('T', '${code}', 'D')`;

beforeAll(async () => {
  database = await createDatabase();
});
beforeEach(async () => {
  await database.query('delete from communication_code; delete from api_key');
});
afterEach(() => Promise.all(clients.splice(0).map((client) => client.end())));
afterAll(() => database.drop());

describe('the identity', () => {
  it.each([
    ['codes', `insert into code_list (name) values ('extra')`],
    ['codes', `insert into code_list_value (code_list, value) values ('extra', 'A')`],
    ['codes', `update code_list_value set value = 'B' where code_list = 'extra'`],
    ['codes', `update code_list_value set valid_until = now() where code_list = 'extra'`],
    [
      'codes',
      `insert into area_property (area, property, code_list) values ('order-update', 'extra', 'extra')`,
    ],
    ['codes', `update area_property set property = 'more' where property = 'extra'`],
    ['codes', `delete from area_property where property = 'more'`],
    ['codes', `delete from code_list_value where code_list = 'extra'`],
    ['codes', `delete from code_list where name = 'extra'`],
    ['codes', addCode('A')],
    ['codes', `${addCode('A')}; update communication_code set description = 'E'`],
    ['codes', `${addCode('A')}; delete from communication_code`],
    ['codes', `truncate communication_code`],
    [
      'codes',
      `set session_replication_role = replica; ${addCode('R')}; reset session_replication_role`,
    ],
    ['codes', `begin; ${addCode('S')}; savepoint s; ${addCode('T')}; rollback to s; commit`],
    ['keys', addKey('A')],
    ['keys', `${addKey('B')}; update api_key set revoked_at = now()`],
    ['keys', `truncate api_key`],
  ] as const)('of %s changes, alone, by %s', async (topic, sql) => {
    const other = topic === 'codes' ? 'keys' : 'codes';
    const before = [await identity(topic), await stamps(other)] as const;
    await database.query(sql);
    expect(await identity(topic)).not.toBe(before[0]);
    expect(await stamps(other)).toBe(before[1]);
  });

  it.each([
    ['a change that is rolled back', `begin; ${addCode('A')}; rollback`],
    ['a statement that finds no row', `update communication_code set description = 'E'`],
    ['a statement that changes no row', 'update code_list_value set position = position'],
  ])('stays the same after %s', async (_, sql) => {
    const before = await identity('codes');
    await database.query(sql);
    expect(await identity('codes')).toBe(before);
  });

  it('never comes back: not when lost transactions are followed by as many others', async () => {
    await database.query(addCode('kept'));
    const copy = await database.query('select * from revision');
    const seen = new Set<string>();
    for (let life = 0; life < 5; life++) {
      for (const code of ['a', 'b', 'c']) {
        await database.query(addCode(`${life}${code}`));
        expect(seen).not.toContain(await stamps('codes'));
        seen.add(await stamps('codes'));
      }
      // An older copy takes the place of the rows, by means that no trigger sees
      await database.query(
        `begin; alter table revision disable trigger all; delete from revision; ${copy
          .map(
            (row) =>
              `insert into revision values ('${row['topic']}', '${row['transaction_id']}', '${(row['begun_at'] as Date).toISOString()}', '${row['extent']}', ${row['transactions']}, ${row['stamp']})`,
          )
          .join('; ')}; alter table revision enable always trigger guard; commit`,
      );
    }
  });

  it.each(['revision', 'changed_code'])(
    'changes for good when %s is emptied, however often',
    async (table) => {
      const seen = new Set<string>();
      for (const how of ['delete from', 'truncate', 'delete from', 'truncate']) {
        await database.query(addCode(how.slice(0, 1) + seen.size));
        await database.query(`${how} ${table}`);
        for (const topic of ['codes', 'keys'] as const) {
          expect(seen).not.toContain(await stamps(topic));
          seen.add(await stamps(topic));
        }
      }
    },
  );

  it('differs even if a restored row has the number of one of our transactions', async () => {
    await database.query(
      `insert into revision (topic, transaction_id, begun_at, extent)
       select 'codes', (pg_current_xact_id()::text::bigint + n)::text::xid8, '2020-01-01', 'records' from generate_series(1, 100) as n`,
    );
    const before = await stamps('codes');
    await database.query(addCode('A'));
    expect(await stamps('codes')).not.toBe(before);
  });

  it('does not make a revoked key wait for an open migration that touched keys and codes', async () => {
    await database.query(addKey('old'));
    const [migration, revoking] = [await open(), await open()];
    await migration.query(`begin; ${addKey('new')}; ${addCode('new')}`);
    const before = await transactions('keys');
    await revoking.query(`update api_key set revoked_at = now() where client = 'old'`);
    expect(await transactions('keys')).toBe(before + 1);
    await migration.query('commit');
    expect(await transactions('keys')).toBe(before + 2);
  });

  it.each(['repeatable read', 'serializable'])(
    'lets a transaction in %s write beside others',
    async (level) => {
      const [snapshot, other] = [await open(), await open()];
      await snapshot.query(`begin isolation level ${level}`);
      await snapshot.query('select from code_list');
      const before = await transactions('codes');
      await other.query(addCode('other'));
      for (const code of ['first', 'second', 'third']) await snapshot.query(addCode(code));
      await snapshot.query('commit');
      expect(await transactions('codes')).toBe(before + 2);
    },
  );

  it('is announced when the change commits', async () => {
    const [listener, writer] = [await open(), await open()];
    await listener.query('listen order_lookup_changed');
    const announced = once(listener, 'notification');
    await writer.query(`begin; ${addCode('A')}; ${addCode('B')}; commit`);
    expect(await announced).toEqual([
      expect.objectContaining({ channel: 'order_lookup_changed', payload: 'codes' }),
    ]);
  });
});

describe('old revisions are folded', () => {
  /** Makes everything in the table so old that it may be folded. */
  const age = (): Promise<unknown> =>
    database.query(
      `update revision set begun_at = begun_at - interval '1 hour'; update changed_code set begun_at = begun_at - interval '1 hour'`,
    );
  const rows = async (): Promise<number> =>
    (await database.query(`select from revision where topic = 'codes'`)).length;
  const fold = 'insert into folding default values';
  beforeAll(() =>
    database.query(
      // Deleting by hand is a change: folding is called by a trigger
      `create table folding (n int);
       create function fold() returns trigger language plpgsql as $$ begin perform fold_revisions('codes'); return null; end $$;
       create trigger fold after insert on folding for each statement execute function fold()`,
    ),
  );

  it('without a change of the identity, and their changed codes go', async () => {
    for (let n = 0; n < 50; n++) await database.query(addCode(String(n)));
    await age();
    const before = await stamps('codes');
    await database.query(fold);
    expect(await stamps('codes')).toBe(before);
    expect(await rows()).toBe(1);
    expect(await database.query('select from changed_code')).toEqual([]);
  });

  it.each(['read committed', 'repeatable read', 'serializable'])(
    'by many at once in %s, among writers, without an error, a wait or a change of what is visible',
    async (level) => {
      for (let n = 0; n < 200; n++) await database.query(addCode(String(n)));
      await age();
      const sessions = await Promise.all(Array.from({ length: 6 }, open));
      const before = await stamps('codes');
      for (const client of sessions) {
        await client.query(`begin isolation level ${level}`);
        await client.query('select from code_list');
      }
      for (const [number, client] of sessions.entries()) {
        await client.query(fold);
        expect(
          (
            await client.query(
              `select transactions || ' ' || stamps as stamps from content_identity where topic = 'codes'`,
            )
          ).rows,
        ).toEqual([{ stamps: before }]);
        await client.query(number % 3 === 2 ? 'rollback' : 'commit');
      }
      expect(await stamps('codes')).toBe(before);
      await database.query('vacuum (freeze) revision');
      await database.query(fold);
      expect(await rows()).toBeLessThan(5);
    },
  );

  it('by themselves, so that there are never many', async () => {
    const client = await open();
    for (let n = 0; n < 600; n++) {
      await client.query(addCode(`many ${n}`));
      if (n % 20 === 0) await age();
    }
    expect(await rows()).toBeLessThan(300);
  });
});

describe('record_gap', () => {
  beforeAll(() => database.query('select raise_every_topic()'));
  afterEach(async () => {
    for (const table of ['communication_code', 'revision'])
      await database.query(
        `do $$ declare t text; begin for t in select tgname from pg_trigger where tgrelid = '${table}'::regclass and not tgisinternal loop
           execute format('alter table ${table} enable always trigger %I', t); end loop; end $$`,
      );
    await database.query('select raise_every_topic()');
    expect(await gaps()).toEqual([]);
  });

  it.each([
    ['communication_code', 'alter table communication_code disable trigger all'],
    [
      'communication_code',
      'alter table communication_code disable trigger all; alter table communication_code enable trigger all',
    ],
    [
      'communication_code',
      'alter table communication_code alter column description type text using upper(description)',
    ],
    [
      'communication_code',
      `alter table communication_code rename column description to former; alter table communication_code add column description text not null default 'X';
       alter table communication_code drop column former`,
    ],
    ['revision', 'alter table revision disable trigger guard'],
    ['history', `delete from history where id = (select max(id) from history)`],
    ['history', 'truncate history'],
    ['history', `update history set operation = 'INSERT'`],
    ['recorded_transaction', 'delete from recorded_transaction'],
  ])('names %s after %s', async (table, sql) => {
    const before = await identity('codes');
    await database.query(addCode('A'));
    await database.query(sql);
    expect(await gaps()).toEqual([table]);
    expect(await identity('codes')).not.toBe(before);
  });

  it.each([
    'truncate communication_code',
    'truncate code_list cascade',
    'vacuum analyze communication_code',
    'grant select on communication_code to order_lookup_service',
    `delete from history where begun_at < now() - interval '1 year'`,
    'reindex table communication_code',
  ])('names nothing after %s', async (sql) => {
    await database.query(sql);
    expect(await gaps()).toEqual([]);
  });

  it('is recorded in the history', async () => {
    await database.query('alter table api_key disable trigger all');
    await database.query('select raise_every_topic()');
    expect(
      await database.query(
        `select table_name, operation, database_user from change_history order by id desc limit 1`,
      ),
    ).toEqual([{ table_name: 'api_key', operation: 'GAP', database_user: 'postgres' }]);
  });
});

describe('the triggers', () => {
  it('cost the same for each of many statements in one transaction', async () => {
    const client = await open();
    const load = async (count: number): Promise<number> => {
      const startedAt = performance.now();
      await client.query(
        `begin; do $$ begin for n in 1..${count} loop insert into communication_code (code_type, code, description) values ('T', 'C' || n, 'D'); end loop; end $$; rollback`,
      );
      return performance.now() - startedAt;
    };
    await load(200);
    await undisturbed(async () => {
      const few = await load(500);
      const many = await load(5_000);
      expect(many / few).toBeLessThan(40); // linear: 10; quadratic: 100
    });
  });
});
