import { describe, expect, it } from '@jest/globals';
import { runLocally } from '../support/local-program.js';
import { localWorld } from '../support/local-world.js';
import { PATHS } from '../support/paths.js';
import type { Outcome } from '../support/program.js';
import { until } from '../support/until.js';

const world = localWorld();

function show(...words: string[]): Promise<Outcome> {
  return runLocally({
    program: 'dist/codes.js',
    words: ['show', ...words],
    environment: { DATABASE_URL: world.database.urlOf('order_lookup_owner') },
  });
}

/** What the command prints for a moment. */
async function shown(moment: string): Promise<string> {
  const { status, stdout, stderr } = await show('--at', moment);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout;
}

const AREAS = [
  { area: 'order-update', path: PATHS.orderUpdate },
  { area: 'order-capture-v2', path: PATHS.orderCaptureV2 },
  { area: 'order-scheduling', path: PATHS.communicationCodes },
];

/** What the service answers, in the form in which the command prints it. */
async function answers(): Promise<string> {
  const parts: string[] = [];
  for (const { area, path } of AREAS) parts.push(`${area}\n${(await world.get(path)).text}\n`);
  return parts.join('\n');
}

interface PolledAnswers {
  readonly time: string;
  readonly text: string;
}

async function poll(): Promise<PolledAnswers> {
  const time = new Date().toISOString();
  return { time, text: await answers() };
}

/** Changes of every kind. Each is seen in the answers. */
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
  `update code_list set name = 'reasons' where name = 'stopReason';
     insert into code_list_value (code_list, value) values ('reasons', 'In the renamed list')`,
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

/** Answers as if nobody had committed the values that tell when a change was read. */
function withoutMarks(text: string): string {
  return text.replaceAll(/,"Mark [^"]+"/g, '');
}

const YEAR_MS = 365 * 86_400_000;

describe('codes show', () => {
  it('prints for each moment what the service answered then, byte for byte', async () => {
    const polled = [await poll()];
    for (const [number, change] of CHANGES.entries()) {
      await commit(change, `Mark ${number}`);
      polled.push(await poll());
    }
    const unmarked = polled.map(({ text }) => withoutMarks(text));
    expect(unmarked.join()).not.toContain('Mark');
    const unseen = CHANGES.filter((_, index) => unmarked[index] === unmarked[index + 1]);
    expect(unseen).toEqual([]);
    for (const { time, text } of polled) expect(await shown(time)).toBe(text);
    expect(await show()).toEqual({ status: 0, stdout: polled.at(-1)?.text, stderr: '' });
  });

  it.each(AREAS)('prints the answer of $area alone, as it is', async ({ area, path }) => {
    const { stdout } = await show('--area', area);
    expect(stdout).toBe((await world.get(path)).text);
  });

  it('prints what will be answered from a moment on, and just before it', async () => {
    const farMs = Date.now() + 3_600_000;
    await commit(
      `insert into code_list_value (code_list, value, valid_from) values ('orderType', 'To come', ${sqlOf(farMs)});
       update communication_code set valid_from = null, valid_until = ${sqlOf(farMs)}`,
      'Mark of a moment',
    );
    const before = await answers();
    const future: string[] = [];
    for (const momentMs of [farMs - 1, farMs, farMs + YEAR_MS]) future.push(await shown(isoOf(momentMs)));

    // Nothing else is changed, so it is what will be answered
    const nearMs = await bringForward();
    await until(async () => (await world.get(PATHS.orderUpdate)).text.includes('To come'));
    const after = await answers();
    expect(future).toEqual([before, after, after]);
    // Now they are past
    expect(await shown(isoOf(nearMs - 1))).toBe(before);
    expect(await shown(isoOf(nearMs))).toBe(after);
  });

  /** To a moment that is still to come when the change is committed. Gives it. */
  async function bringForward(): Promise<number> {
    for (let aheadMs = 300; ; aheadMs *= 2) {
      const momentMs = Date.now() + aheadMs;
      await world.database.query(
        `update code_list_value set valid_from = ${sqlOf(momentMs)} where value = 'To come';
         update communication_code set valid_until = ${sqlOf(momentMs)}`,
      );
      const isCommittedBefore = Date.now() < momentMs - 1;
      if (isCommittedBefore) return momentMs;
    }
  }

  function sqlOf(momentMs: number): string {
    return `to_timestamp(${momentMs / 1_000})`;
  }

  function isoOf(momentMs: number): string {
    return new Date(momentMs).toISOString();
  }

  it.each([
    {
      words: ['--at', 'yesterday'],
      sentence: '--at is "yesterday", neither a date nor a date-time such as',
    },
    { words: ['--at', '2000-01-01T00:00:00Z'], sentence: 'The record of changes begins at 20' },
    {
      words: ['--area', 'orders'],
      sentence: '--area is "orders": order-update, order-capture-v2, order-scheduling',
    },
  ])('refuses $words in one sentence', async ({ words, sentence }) => {
    expect(await refusalOf(...words)).toContain(sentence);
  });

  it('tells the same after a new column, other settings of the session, and dump and restore', async () => {
    const { database } = world;
    const past = await poll();
    await commit(
      `insert into communication_code (code_type, code, description, valid_from)
         values ('T', 'dated', 'D', '1991-07-06T05:04:03.21+01:00')`,
      'Mark of events',
    );
    const dated = await poll();
    const expectSame = async (): Promise<void> => {
      for (const { time, text } of [past, dated]) expect(await shown(time)).toBe(text);
    };
    await database.query('delete from communication_code');
    await database.query(`alter table communication_code add column note text default 'N'`);
    await database.query('alter table history add column note text');
    await expectSame();
    await database.query(`update communication_code set note = 'M'`);
    await database.query(`insert into communication_code (code_type, code, description) values ('T', 'noted', 'N')`);
    await expectSame();
    await database.query('alter table communication_code rename column note to remark');
    await database.query('alter table communication_code drop column remark');
    await expectSame();
    const settings = `alter role order_lookup_owner in database ${database.name} set`;
    await database.query(`${settings} datestyle = 'German'`);
    await database.query(`${settings} timezone = 'Asia/Kathmandu'`);
    await expectSame();
    // As a restore does, the rows of the record are written again, in any order
    await database.query(
      `begin; create table copied as select * from history order by random(); truncate history;
       insert into history overriding system value select * from copied; drop table copied; commit`,
    );
    await expectSame();
  });

  it('undoes changes in the order in which they were made, whenever their transactions began', async () => {
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

  it('counts a transaction from its last statement', async () => {
    const { database } = world;
    await commit(`insert into communication_code values ('HALF', 'a', 'Old'), ('HALF', 'b', 'Old')`, 'Mark of half');
    const before = await answers();
    const writer = await database.session();
    await writer.query(`begin; update communication_code set description = 'New' where code = 'a'`);
    const half = nextMillisecond();
    await writer.query(
      `select pg_sleep(0.01); update communication_code set description = 'New' where code = 'b'; commit`,
    );
    expect(await shown(half)).toBe(before);
    expect(await shown(nextMillisecond())).toContain('New');
  });

  it('says what could not be served at a moment', async () => {
    const { database } = world;
    await database.query(
      `create table kept as select * from area_property; delete from area_property where area = 'order-update'`,
    );
    const refused = nextMillisecond();
    await database.query(
      `select pg_sleep(0.01); insert into area_property select * from kept where area = 'order-update';
       drop table kept`,
    );
    expect(await refusalOf('--at', refused)).toContain(
      `The content of ${refused} could not be served: the area order-update has no property`,
    );
  });

  it('takes a date for its first moment in UTC', async () => {
    expect(await shown('2999-01-01')).toBe(await shown('2999-01-01T00:00:00Z'));
  });

  it('says how far the record reaches where its older part was deleted', async () => {
    const { database } = world;
    const { time } = await poll();
    await commit(
      `begin; insert into communication_code values ('CUT', 'first', 'x'); select pg_sleep(0.01);
       insert into communication_code values ('CUT', 'second', 'x'); select pg_sleep(0.01);
       insert into communication_code values ('CUT', 'third', 'x'); commit; select pg_sleep(0.01)`,
      'Mark after the transaction',
    );
    await database.query(
      `delete from history
         where changed_at < (select changed_at from history where new_row ->> 'code' = 'second')`,
    );
    const [last] = await database.query<{ changed: Date }>(
      `select date_trunc('milliseconds', changed_at + interval '999 microseconds') as changed
         from history where new_row ->> 'code' = 'third'`,
    );
    // Of the transaction that was cut in two nobody ever got a part
    const beginMs = last?.changed.getTime() ?? NaN;
    const begun = await shown(isoOf(beginMs));
    expect(begun).toContain('"third"');
    expect(begun).not.toContain('Mark after the transaction');
    for (const early of [time, isoOf(beginMs - 1)])
      expect(await refusalOf('--at', early)).toBe(
        `The record of changes begins at ${isoOf(beginMs)}, ` +
          'and what was answered before is not known. Give a later moment.\n',
      );
    await database.query('truncate history');
    expect(await refusalOf('--at', time)).toContain('The record of changes begins at');
  });

  /** What it says instead, in one line. */
  async function refusalOf(...words: string[]): Promise<string> {
    const { status, stdout, stderr } = await show(...words);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/^[^\n]+\n$/);
    return stderr;
  }

  /** After all that is recorded: the record has microseconds. */
  function nextMillisecond(): string {
    return isoOf(Date.now() + 1);
  }
});
