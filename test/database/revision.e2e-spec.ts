import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { type TestDatabase, createDatabase } from '../support/database.js';

let database: TestDatabase;
const clients: Client[] = [];

async function open(): Promise<Client> {
  const client = new Client(database.url);
  clients.push(client);
  await client.connect();
  await client.query(`set lock_timeout = '500ms'`); // whoever waits for a revision fails
  return client;
}

const revision = async (topic: 'codes' | 'keys'): Promise<number> => {
  const [row] = await database.query<{ sum: string }>(
    'select sum(value) from revision where topic = $1',
    [topic],
  );
  return Number(row?.sum);
};
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

describe('the revision', () => {
  it.each([
    ['codes', `insert into code_list (name) values ('extra')`],
    ['codes', `insert into code_list_value (code_list, value) values ('extra', 'A')`],
    ['codes', `update code_list_value set value = 'B' where code_list = 'extra'`],
    [
      'codes',
      `insert into area_property (area, property, code_list) values ('order-update', 'extra', 'extra')`,
    ],
    ['codes', `update area_property set property = 'more' where property = 'extra'`],
    ['codes', `delete from area_property where property = 'more'`],
    ['codes', `delete from code_list_value where code_list = 'extra'`],
    ['codes', `delete from code_list where name = 'extra'`],
    ['codes', addCode('A')],
    ['codes', `update communication_code set description = 'E'`],
    ['codes', `delete from communication_code`],
    ['codes', `truncate communication_code`],
    ['keys', addKey('A')],
    ['keys', `update api_key set revoked_at = now()`],
    ['keys', `truncate api_key`],
  ] as const)('of %s grows, alone, by %s', async (topic, sql) => {
    const other = topic === 'codes' ? 'keys' : 'codes';
    const before = [await revision(topic), await revision(other)] as const;
    await database.query(sql);
    expect(await revision(topic)).toBeGreaterThan(before[0]);
    expect(await revision(other)).toBe(before[1]);
  });

  it('does not make a revoked key wait for an open migration that touched keys and codes', async () => {
    await database.query(addKey('old'));
    const [migration, revoking] = [await open(), await open()];
    await migration.query(`begin; ${addKey('new')}; ${addCode('new')}`);
    const before = await revision('keys');
    await revoking.query(`update api_key set revoked_at = now() where client = 'old'`);
    expect(await revision('keys')).toBe(before + 1);
    await migration.query('commit');
    expect(await revision('keys')).toBe(before + 2);
  });

  it('grows again when an earlier change commits later, and not when it is rolled back', async () => {
    const [early, late, undone] = [await open(), await open(), await open()];
    await early.query(`begin; ${addCode('early')}`);
    await undone.query(`begin; ${addCode('undone')}`);
    await late.query(addCode('late'));
    const seen = await revision('codes');
    await early.query('commit');
    expect(await revision('codes')).toBe(seen + 1);
    await undone.query('rollback');
    expect(await revision('codes')).toBe(seen + 1);
  });

  it('lets a transaction in REPEATABLE READ write beside others', async () => {
    const [snapshot, other] = [await open(), await open()];
    await snapshot.query('begin isolation level repeatable read');
    await snapshot.query('select from communication_code');
    const before = await revision('codes');
    await other.query(addCode('other'));
    const slots = async () =>
      (await database.query(`select from revision where topic = 'codes'`)).length;
    const slotsBefore = await slots();
    for (const code of ['first', 'second', 'third']) await snapshot.query(addCode(code));
    await snapshot.query('commit');
    expect(await revision('codes')).toBe(before + 4);
    expect(await slots()).toBe(slotsBefore + 1);
  });

  it('grows by each of many commits at once, in no more slots than sessions', async () => {
    const before = await revision('codes');
    const sessions = await Promise.all(Array.from({ length: 8 }, open));
    await Promise.all(
      sessions.map(async (client, session) => {
        for (let at = 0; at < 25; at++)
          await client.query(
            `begin; ${addCode(`${session}-${at}`)}; ${at % 5 === 0 ? 'rollback' : 'commit'}`,
          );
      }),
    );
    expect(await revision('codes')).toBe(before + 8 * 20);
    const [slots] = await database.query<{ count: string }>(
      `select count(*) from revision where topic = 'codes'`,
    );
    expect(Number(slots?.count)).toBeLessThanOrEqual(12);
  });

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
