import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { localWorld } from '../support/local-world.js';
import { PATHS } from '../support/paths.js';
import { until } from '../support/until.js';

const DAY_MS = 86_400_000;

/** A value and a code with the same times. The times are SQL. */
interface PlannedRow {
  readonly name: string;
  readonly from?: string;
  readonly end?: string;
  readonly isServed: boolean;
  /** SQL that changes the row before its time comes. */
  readonly change?: string;
}

describe('a time at which codes begin or end', () => {
  const world = localWorld();
  afterEach(async () => {
    await world.database.query(
      `delete from code_list_value where value like 'Test%'; delete from communication_code where code_type = 'TEST'`,
    );
    await until(async () => !(await world.get(PATHS.orderUpdate)).text.includes('Test'));
  });

  const fetchOrderTypes = async (): Promise<string[]> =>
    (JSON.parse((await world.get(PATHS.orderUpdate)).text) as { orderType: string[] }).orderType;
  const fetchCodes = async (): Promise<string[]> => {
    const { text } = await world.get(`${PATHS.communicationCodes}?codeType=TEST`);
    type Records = { communicationRecords: { code: string }[] };
    return (JSON.parse(text) as Records).communicationRecords.map(({ code }) => code);
  };
  /** Returns SQL for the time that is this many milliseconds from now. */
  const inMs = (milliseconds: number): string => `clock_timestamp() + interval '${milliseconds} ms'`;
  const addOrderType = (name: string, from: string, end = 'null'): Promise<unknown> =>
    world.database.query(
      `insert into code_list_value (code_list, value, valid_from, valid_until)
       values ('orderType', '${name}', ${from}, ${end})`,
    );

  const readMetric = (name: string): Promise<number> => world.service.readMetric(`order_lookup_${name}`);
  const expectNextMoment = (epochMs: number): Promise<void> =>
    until(async () => (await readMetric('next_moment_timestamp_seconds')) === epochMs / 1000);

  it('decides whether a code is served, even if the time is past, or was changed before it came', async () => {
    const valuesBefore = await fetchOrderTypes();
    const [past, later] = [inMs(-1_000), inMs(DAY_MS)];
    const soon = `to_timestamp(${(Date.now() + 1_200) / 1000})`;
    const rows: readonly PlannedRow[] = [
      { name: 'Test begun', from: past, isServed: true },
      { name: 'Test to end', end: later, isServed: true },
      { name: 'Test of the year 9999', from: `'9999-12-31T23:59:59.999Z'`, isServed: false },
      { name: 'Test ended', from: inMs(-2_000), end: past, isServed: false },
      { name: 'Test between', from: past, end: later, isServed: true },
      { name: 'Test stays', from: soon, isServed: true },
      { name: 'Test brought forward', from: soon, isServed: true, change: `valid_from = ${inMs(-1)}` },
      { name: 'Test withdrawn', from: soon, isServed: true, change: 'valid_from = null' },
      { name: 'Test moved', from: soon, isServed: false, change: `valid_from = ${later}` },
      {
        name: 'Test stopped',
        from: soon,
        isServed: false,
        change: 'valid_from = null, valid_until = now()',
      },
    ];
    for (const { name, from = 'null', end = 'null' } of rows) {
      await addOrderType(name, from, end);
      await world.database.query(`insert into communication_code values ('TEST', '${name}', 'Test', ${from}, ${end})`);
    }
    for (const { name, change } of rows) {
      if (change === undefined) continue;
      await world.database.query(
        `update code_list_value set ${change} where value = '${name}';
         update communication_code set ${change} where code = '${name}'`,
      );
    }
    await world.database.addValue('Test is read');
    await until(async () => {
      const now = await fetchOrderTypes();
      return now.includes('Test stays') && now.includes('Test is read');
    });
    const served = rows.filter(({ isServed }) => isServed).map(({ name }) => name);
    expect(await fetchOrderTypes()).toEqual([...valuesBefore, ...served, 'Test is read']);
    expect(await fetchCodes()).toEqual(served.toSorted());
  });

  it('is in a metric before it comes. Then a counter rises, and the log names the next time', async () => {
    const switched = await readMetric('moments_switched_total');
    const later = Date.now() + DAY_MS;
    const at = (epochMs: number): string => `to_timestamp(${epochMs / 1000})`;
    await addOrderType('Test', at(later), at(later + 1_000));
    await expectNextMoment(later);
    let end: number;
    // If the service reads a time after it has come, the metric does not count it. Then the test tries a later time
    do {
      const begin = Date.now() + 500;
      end = begin + DAY_MS;
      await world.database.query(
        `update code_list_value set valid_from = ${at(begin)}, valid_until = ${at(end)} where value = 'Test'`,
      );
      await expectNextMoment(end);
      await fetchOrderTypes(); // the first request after `begin` makes the metric count `begin`
    } while ((await readMetric('moments_switched_total')) === switched);
    expect(await readMetric('moments_switched_total')).toBe(switched + 1);
    await world.service.waitForLog(
      ({ level, msg, next }) =>
        level === 'info' && msg === 'codes: an effective time has come' && next === new Date(end).toISOString(),
    );
    await world.database.query(`delete from code_list_value where value = 'Test'`);
    await expectNextMoment(0);
  });

  it('comes early for none of 1,000 codes, and all codes of an answer are valid at the same time', async () => {
    // `npm run faults -- moment` measures how late codes begin and end
    const CODE_LIFETIME_MS = 100;
    let seen = -1;
    do {
      await world.database.query(`delete from communication_code where code_type = 'TEST'`);
      seen = await readLastServed(Date.now() + 1_000, CODE_LIFETIME_MS);
    } while (seen < 0); // -1 if the machine stood still until all codes had ended
  });

  /**
   * Adds a thousand codes: each millisecond from `firstBeginMs` on, one code begins. Asks for the codes until all have
   * ended, and checks each answer.
   * @returns the number of the last code that was served, or -1 if none was served
   */
  async function readLastServed(firstBeginMs: number, lastsMs: number): Promise<number> {
    await world.database.query(
      `insert into communication_code (code_type, code, description, valid_from, valid_until)
       select 'TEST', 'C' || lpad(n::text, 4, '0'), 'Test',
         to_timestamp(($1::float8 + n) / 1000), to_timestamp(($1::float8 + n + ${lastsMs}) / 1000)
       from generate_series(0, 999) as n`,
      [firstBeginMs],
    );
    const toNumber = (code = ''): number => Number(code.slice(1));
    let seen = -1;
    for (;;) {
      const haveAllEnded = Date.now() > firstBeginMs + 1_000 + lastsMs;
      const served = await fetchCodes();
      if (haveAllEnded && served.length === 0) return seen;
      await pause(10);
      if (served.length === 0) continue;
      const [first, last] = [toNumber(served[0]), toNumber(served.at(-1))];
      expect(last).toBeGreaterThanOrEqual(seen);
      expect(served).toHaveLength(last - first + 1);
      expect(served.length).toBeLessThanOrEqual(lastsMs); // at most this many are in force at the same time
      expect(firstBeginMs + last).toBeLessThanOrEqual(Date.now());
      seen = last;
    }
  }
});
