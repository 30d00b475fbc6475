import { expect, it } from '@jest/globals';
import { show as command } from '../../src/administration/codes/show.command.js';
import { PATHS } from '../support/paths.js';
import { type Outcome, run } from '../support/program.js';
import { until } from '../support/service.js';
import { testWorld } from '../support/test-world.js';

const world = testWorld();

const show = (...words: string[]): Promise<Outcome> =>
  run('codes.js', ['show', ...words], { DATABASE_URL: world.database.urlOf('order_lookup_owner') });
/** The same without a process of its own: for many moments. */
const shown = async (at: string): Promise<string> => {
  process.env['DATABASE_URL'] = world.database.urlOf('order_lookup_owner');
  return (await command.run({ at }, [])).text;
};
const AREAS = {
  'order-update': PATHS.orderUpdate,
  'order-capture-v2': PATHS.orderCaptureV2,
  'order-scheduling': PATHS.communicationCodes,
};
/** What the service answers, in the form in which the command prints it. */
const answers = async (): Promise<string> => {
  const parts: string[] = [];
  for (const [area, path] of Object.entries(AREAS))
    parts.push(`${area}\n${(await world.get(path)).text}\n`);
  return parts.join('\n');
};

const poll = async () => ({ time: new Date().toISOString(), text: await answers() });

/** Changes of every kind, each followed by one that the answers tell. */
const CHANGES = [
  `insert into code_list_value (code_list, value) values ('orderType', 'Added'), ('stopReason', 'Gone soon')`,
  `insert into communication_code (code_type, code, description) select 'MANY', 'C' || n, 'Code ' || n
     from generate_series(1, 2500) as n`,
  `update communication_code set description = description || ' "changed" é' where code like 'C1%'`,
  `update communication_code set code = 'D' || code where code like 'C2%';
     update communication_code set code_type = 'OTHER' where code = 'C300'`,
  `delete from communication_code where code like 'C4%'; delete from code_list_value where value = 'Gone soon'`,
  `insert into communication_code (code_type, code, description) values ('MANY', 'C4', 'Back');
     insert into code_list_value (code_list, value, position) values ('stopReason', 'Gone soon', 90)`,
  `update area_property set position = position + 100 where property = 'orderType';
     update code_list_value set value = 'Renamed' where value = 'Added'`,
  `update code_list set name = 'reasons' where name = 'stopReason'`,
  `truncate communication_code`,
  `insert into communication_code (code_type, code, description) values ('T', 'a', 'A');
     update communication_code set code = 'b';
     insert into communication_code (code_type, code, description) values ('T', 'a', 'Another')`,
  `insert into communication_code (code_type, code, description, valid_from)
     values ('T', 'later', 'Later', now() + interval '1 hour'),
     ('T', 'earlier', 'Earlier', now() - interval '1 hour')`,
  `delete from communication_code; insert into code_list (name) values ('empty')`,
  `insert into communication_code select 'LOT', 'L' || n, 'Lot ' || n from generate_series(1, 50) as n`,
  `begin; update communication_code set code = 'M' || code;
   delete from communication_code where code like 'ML2%'; commit`,
  `update code_list_value set value = 'Back again' where value = 'Renamed'`,
  `update code_list_value set position = 100 - position where code_list = 'orderType'`,
  `update area_property set position = 200 - position where area = 'order-capture-v2'`,
  `delete from communication_code where code = 'ML3'; insert into communication_code values ('LOT', 'ML3', 'Restored')`,
  `update communication_code set valid_until = now() - interval '1 second' where code = 'ML4'`,
  `truncate communication_code; insert into communication_code values ('LOT', 'ML5', 'Alone')`,
];

/** Commits a change, and then a value that tells when the service has read both. */
async function commit(change: string, value: string): Promise<void> {
  await world.database.query(change);
  await world.database.addValue(value, 'orderStatus');
  await until(async () => (await world.get(PATHS.orderUpdate)).text.includes(value));
}

it('codes show prints for each moment what the service answered then, byte for byte', async () => {
  const polled = [await poll()];
  for (const [number, change] of CHANGES.entries()) {
    await commit(change, `Mark ${number}`);
    polled.push(await poll());
  }
  expect(polled.length).toBeGreaterThanOrEqual(20);
  expect(new Set(polled.map(({ text }) => text)).size).toBe(polled.length);
  for (const { time, text } of polled) expect(await shown(time)).toBe(text);
  const { time, text } = polled.at(-2) as Awaited<ReturnType<typeof poll>>;
  expect(await show('--at', time)).toEqual({ status: 0, stdout: text, stderr: '' });
  expect(await show()).toEqual({ status: 0, stdout: polled.at(-1)?.text, stderr: '' });
});

it('codes show prints the answer of one area alone, as it is', async () => {
  for (const [area, path] of Object.entries(AREAS))
    expect((await show('--area', area)).stdout).toBe((await world.get(path)).text);
});

it('codes show prints what will be answered from a moment on, and just before it', async () => {
  let [moment, before] = [0, ''];
  do {
    moment = Date.now() + 2_500;
    const at = `to_timestamp(${moment / 1000})`;
    await commit(
      `delete from code_list_value where value = 'To come';
       insert into code_list_value (code_list, value, valid_from) values ('orderType', 'To come', ${at});
       update communication_code set valid_from = null, valid_until = ${at}`,
      `Mark ${moment}`,
    );
    before = await answers();
  } while (Date.now() >= moment); // the machine was away until it had come
  const times = [moment, moment - 1, moment + 3e10].map((time) => new Date(time).toISOString());
  const future = times.map(async (time) => (await show('--at', time)).stdout);
  await until(async () => (await world.get(PATHS.orderUpdate)).text.includes('To come'));
  const after = await answers();
  expect(await Promise.all(future)).toEqual([after, before, after]);
  expect(await Promise.all(times.slice(0, 2).map(shown))).toEqual([after, before]); // now they are past
});

it.each([
  [['--at', 'yesterday'], '--at is "yesterday", neither a date nor a date-time such as'],
  [['--at', '2000-01-01T00:00:00Z'], 'The record of changes begins at 20'],
  [['--area', 'orders'], '--area is "orders": order-update, order-capture-v2, order-scheduling'],
])('codes show refuses %j in one sentence', async (words, sentence) => {
  const { status, stdout, stderr } = await show(...words);
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toMatch(/^[^\n]+\n$/);
  expect(stderr).toContain(sentence);
});

it('codes show tells the same after a new column, other settings of the session, and dump and restore', async () => {
  const past = await poll();
  await commit(
    `insert into communication_code (code_type, code, description, valid_from)
       values ('T', 'dated', 'D', '1991-07-06T05:04:03.21+01:00')`,
    'Mark of events',
  );
  const dated = await poll();
  await world.database.query('delete from communication_code');
  for (const event of [
    `alter table communication_code add column note text default 'N'; alter table history add column note text`,
    `update communication_code set note = 'M';
       insert into communication_code (code_type, code, description) values ('T', 'noted', 'N')`,
    `alter table communication_code rename column note to remark; alter table communication_code drop column remark`,
    `alter role order_lookup_owner in database ${world.database.name} set datestyle = 'German';
       alter role order_lookup_owner in database ${world.database.name} set timezone = 'Asia/Kathmandu'`,
  ]) {
    for (const sql of event.split(/;\s+/)) await world.database.query(sql);
    for (const { time, text } of [past, dated]) expect(await shown(time)).toBe(text);
  }
  // A dump and its restore: all rows are copied in another order, and no object keeps its number
  await world.database.query(
    `begin; create table copied as select * from history order by random(); truncate history;
     insert into history overriding system value select * from copied; drop table copied; commit`,
  );
  for (const { time, text } of [past, dated]) expect(await shown(time)).toBe(text);
});

it('codes show undoes changes in the order in which they were made, whenever their transactions began', async () => {
  const early = await world.database.session();
  await early.query('begin; select now()');
  await world.database.query(
    `insert into communication_code (code_type, code, description) values ('ORDER', 'a', 'First')`,
  );
  await early.query(
    `update communication_code set code = 'b', description = 'Second' where code_type = 'ORDER';
       delete from communication_code where code_type = 'ORDER';
     insert into communication_code (code_type, code, description)
     values ('ORDER', 'a', 'Third'), ('ORDER', 'b', 'Third'); commit`,
  );
  await commit('select', 'Mark of two');
  const then = await poll();
  expect(then.text).toContain('"Third"');
  // Keys change places, which no order but that of the statements undoes
  await world.database.query(
    `begin; update communication_code set code = 'x' where (code_type, code) = ('ORDER', 'a');
       update communication_code set code = 'a' where (code_type, code) = ('ORDER', 'b');
     update communication_code set code = 'b' where (code_type, code) = ('ORDER', 'x');
     delete from communication_code where code_type = 'ORDER'; commit`,
  );
  expect(await shown(then.time)).toBe(then.text);
});

it('codes show counts a transaction from its last statement, and says what could not be served', async () => {
  const { database } = world;
  await commit(
    `insert into communication_code values ('HALF', 'a', 'Old'), ('HALF', 'b', 'Old')`,
    'Mark of half',
  );
  const before = await answers();
  const writer = await database.session();
  await writer.query(`begin; update communication_code set description = 'New' where code = 'a'`);
  const half = new Date(Date.now() + 1).toISOString();
  await writer.query(
    `select pg_sleep(0.01); update communication_code set description = 'New' where code = 'b'; commit`,
  );
  expect(await shown(half)).toBe(before);
  const end = (await database.query<{ end: Date }>('select max(changed_at) as end from history'))[0]
    ?.end;
  expect(await shown(new Date((end?.getTime() ?? 0) + 1).toISOString())).toContain('New');
  await database.query(
    `create table kept as select * from area_property; delete from area_property where area = 'order-update'`,
  );
  const refused = new Date(Date.now() + 1).toISOString();
  await database.query(
    `select pg_sleep(0.01); insert into area_property select * from kept where area = 'order-update';
       drop table kept`,
  );
  await expect(shown(refused)).rejects.toThrow(
    `The content of ${refused} could not be served: the area order-update has no property`,
  );
  expect(await shown('2999-01-01')).toBe(await shown('2999-01-01T00:00:00Z'));
});

it('codes show says how far the record reaches where its older part was deleted', async () => {
  const { text, time } = await poll();
  await world.database.query(`delete from history where changed_at < $1`, [time]);
  await commit('select', 'Mark after the deletion');
  const [{ begin } = { begin: new Date() }] = await world.database.query<{ begin: Date }>(
    `select date_trunc('milliseconds', min(changed_at) + interval '999 microseconds') as begin from history`,
  );
  expect(await shown(new Date(begin.getTime() + 1).toISOString())).toBe(await answers());
  await expect(shown(time)).rejects.toThrow(
    `The record of changes begins at ${begin.toISOString()}, and what was answered before is not known.`,
  );
  await world.database.query('truncate history');
  await expect(shown(time)).rejects.toThrow('The record of changes begins at');
  expect(text).not.toBe(await answers());
});
