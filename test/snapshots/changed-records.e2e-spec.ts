// After a change the service reads what changed, and nothing else. Whatever the change and however it is committed, the answers are those of a
// service that reads everything.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { type LogLine, RunningService, until } from '../support/service.js';
import { PATHS } from '../support/paths.js';
import { World } from '../support/world.js';

const { orderUpdate: UPDATE, communicationCodes: CODES } = PATHS;
let world: World;
beforeAll(async () => {
  world = await World.create();
});
afterAll(() => world?.close());

const sql = (text: string): Promise<unknown> => world.database.query(text);

/** What the table holds, in the form of the answer. */
async function expected(where = 'true'): Promise<string> {
  const rows = await world.database.query(
    `select code_type as "codeType", code, description from communication_code where ${where} order by code_type, code`,
  );
  return JSON.stringify({ communicationRecords: rows });
}

/** Waits until a value that was committed last is served; the codes committed before it are then, too. */
async function settled(): Promise<void> {
  const marker = `Marker ${process.hrtime.bigint()}`;
  await world.database.query(
    `insert into code_list_value (code_list, value) values ('orderType', $1)`,
    [marker],
  );
  await until(async () => (await world.get(UPDATE)).text.includes(marker));
}

async function expectServed(filters: string, where?: string): Promise<void> {
  const [served, wanted] = [(await world.get(CODES + filters)).text, await expected(where)];
  let at = 0;
  while (at < wanted.length && served[at] === wanted[at]) at++;
  const excerpt = (text: string): string => text.slice(Math.max(0, at - 100), at + 100); // of two texts that may be very long
  expect(excerpt(served)).toBe(excerpt(wanted));
  expect(served).toHaveLength(wanted.length);
}

async function expectAllServed(): Promise<void> {
  await settled();
  await expectServed('');
  await expectServed('?codeType=T3', `code_type = 'T3'`);
  await expectServed('?code=C0042', `code = 'C0042'`);
}

describe('the communication codes are those of the table', () => {
  beforeEach(async () => {
    await sql(`delete from communication_code`);
    await sql(
      `insert into communication_code select 'T' || n % 7, 'C' || lpad((n % 1200)::text, 4, '0'), 'Code ' || n from generate_series(1, 3000) as n`,
    );
    await expectAllServed();
  });

  it.each([
    ['one is added', `insert into communication_code values ('T3', 'C0042x', 'New')`],
    ['one before all', `insert into communication_code values ('!', '!', 'First')`],
    ['one behind all', `insert into communication_code values ('\u{1f69a}', '\u{1f69a}', 'Last')`],
    [
      'a description changes',
      `update communication_code set description = 'A "new" \\ text' where code = 'C0042'`,
    ],
    ['a key changes', `update communication_code set code = 'C0042~' where code = 'C0042'`],
    [
      'a code moves to another type',
      `update communication_code set code_type = 'T3x' where code_type = 'T3' and code < 'C0100'`,
    ],
    ['one is removed', `delete from communication_code where code = 'C0042'`],
    ['a type is removed', `delete from communication_code where code_type = 'T3'`],
    ['all are removed', `delete from communication_code`],
    ['the table is emptied', `truncate communication_code`],
    [
      'the table is emptied and filled',
      `truncate communication_code; insert into communication_code values ('T3', 'C0042', 'Again')`,
    ],
    [
      'more are added than are read one by one',
      `insert into communication_code select 'M' || n, 'C0042', 'Many' from generate_series(1, 5000) as n`,
    ],
    [
      'one is removed and comes back in the same transaction',
      `begin; delete from communication_code where code = 'C0042'; insert into communication_code values ('T3', 'C0042', 'Back'); commit`,
    ],
    [
      'one is merged in',
      `insert into communication_code values ('T0', 'C0042', 'Merged'), ('T3', 'C0042', 'Merged') on conflict (code_type, code) do update set description = excluded.description`,
    ],
    [
      'a part of the transaction is taken back',
      `begin; delete from communication_code where code = 'C0042'; savepoint here; delete from communication_code where code_type = 'T3'; rollback to here; commit`,
    ],
  ])('when %s', async (_, change) => {
    await sql(change);
    await expectAllServed();
  });

  it('when a transaction is committed after others that began later', async () => {
    const early = new Client(world.database.url);
    await early.connect();
    try {
      await early.query(
        `begin; update communication_code set description = 'Early' where code = 'C0001'`,
      );
      for (let later = 0; later < 3; later++) {
        await sql(
          `update communication_code set description = 'Later ${later}' where code = 'C0002'`,
        );
        await expectAllServed();
      }
      await early.query('commit');
    } finally {
      await early.end();
    }
    await expectAllServed();
    expect((await world.get(`${CODES}?code=C0001`)).text).toContain('"Early"');
  });

  it('when the record of changes came from another server, whose transactions had higher numbers', async () => {
    await sql(
      `begin; insert into revision (topic, transaction_id, extent) select 'codes', (n + (1::bigint << 40))::text::xid8, 'records' from generate_series(1, 20) as n;
       insert into changed_code (transaction_id, code_type, code) select (n + (1::bigint << 40))::text::xid8, 'T0', 'C0042' from generate_series(1, 20) as n; commit`,
    );
    await sql(
      `update communication_code set description = 'After the restore' where code = 'C0042'`,
    );
    await expectAllServed();
  });

  it('when another table takes the place of the table', async () => {
    await sql(
      `begin; alter table communication_code rename to former;
       create table communication_code (like former including all); insert into communication_code values ('T3', 'C0042', 'Another');
       grant select on communication_code to order_lookup_service; commit`,
    );
    await expectAllServed();
    expect((await world.get(CODES)).text).toContain('"Another"');
  });
});

describe('what cannot be served is refused, and the former codes stay', () => {
  let here: World;
  beforeAll(async () => {
    here = await World.create();
    await here.database.query(
      `alter table communication_code drop constraint communication_code_is_unique; drop index communication_code_by_code;
       alter table communication_code drop constraint communication_code_is_clean_text_of_256_characters`,
    );
  });
  afterAll(() => here?.close());

  it.each([
    ['a key that stands twice', 'S1', /keys twice/],
    ['an empty code', '', /empty code or control characters/],
    ['a code with a control character', 'a\u0007b', /empty code or control characters/],
  ])('%s', async (_, code, reason) => {
    const before = (await here.get(CODES)).text;
    await here.database.query(
      `insert into communication_code values ('SAMPLE-STATUS', $1, 'Bad')`,
      [code],
    );
    const refused = ({ msg, reason: said }: LogLine): boolean =>
      msg === 'snapshot: refused, the former one stays' && reason.test(String(said));
    await here.service.waitForLog(refused);
    expect((await here.get(CODES)).text).toBe(before);
    const another = await RunningService.start({
      DATABASE_URL: here.database.urlOf('order_lookup_service'),
      ...here.issuer.environment,
    });
    await another.waitForLog(refused);
    expect((await fetch(`${another.managementUrl}/health/ready`)).status).toBe(503);
    await here.database.query(`delete from communication_code where description = 'Bad'`);
    await another.ready();
    await another.kill();
  });
});
