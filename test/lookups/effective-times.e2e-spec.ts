import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { localWorld } from '../support/local-world.js';
import { PATHS } from '../support/paths.js';
import { until } from '../support/until.js';

/** A value and a code with the same times, which are SQL. */
interface PlannedRow {
  readonly name: string;
  readonly from?: string;
  readonly end?: string;
  readonly isServed: boolean;
  /** A change before the time comes, as SQL. */
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

  const orderTypes = async (): Promise<string[]> =>
    (JSON.parse((await world.get(PATHS.orderUpdate)).text) as { orderType: string[] }).orderType;
  const codes = async (): Promise<string[]> => {
    const { text } = await world.get(`${PATHS.communicationCodes}?codeType=TEST`);
    type Records = { communicationRecords: { code: string }[] };
    return (JSON.parse(text) as Records).communicationRecords.map(({ code }) => code);
  };
  /** Returns the SQL of a time that many milliseconds from now. */
  const inMs = (milliseconds: number): string => `clock_timestamp() + interval '${milliseconds} ms'`;
  const addValue = (name: string, from: string, end = 'null'): Promise<unknown> =>
    world.database.query(
      `insert into code_list_value (code_list, value, valid_from, valid_until)
       values ('orderType', '${name}', ${from}, ${end})`,
    );

  const metric = (name: string): Promise<number> => world.service.metric(`order_lookup_${name}`);
  const nextMoment = (expected: number): Promise<void> =>
    until(async () => (await metric('next_moment_timestamp_seconds')) === expected / 1000);

  it('is obeyed as the table says, also if it is committed late or changed before it comes', async () => {
    const [past, later] = [inMs(-1_000), inMs(86_400_000)];
    const soon = `to_timestamp(${(Date.now() + 1_200) / 1000})`;
    const rows: readonly PlannedRow[] = [
      { name: 'Test begun', from: past, isServed: true },
      { name: 'Test to end', end: later, isServed: true },
      { name: 'Test of the year 9999', from: `'9999-12-31T23:59:59.999Z'`, isServed: false },
      { name: 'Test ended', from: inMs(-2_000), end: past, isServed: false },
      { name: 'Test between', from: past, end: later, isServed: true },
      { name: 'Test stays', from: soon, isServed: true },
      { name: 'Test forward', from: soon, isServed: true, change: `valid_from = ${inMs(-1)}` },
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
      await addValue(name, from, end);
      await world.database.query(`insert into communication_code values ('TEST', '${name}', 'Test', ${from}, ${end})`);
    }
    for (const { name, change = 'valid_from = valid_from' } of rows)
      await world.database.query(
        `update code_list_value set ${change} where value = '${name}';
         update communication_code set ${change} where code = '${name}'`,
      );
    await world.database.addValue('Test is read');
    await until(async () => {
      const now = await orderTypes();
      return now.includes('Test stays') && now.includes('Test is read');
    });
    const served = rows.filter(({ isServed }) => isServed).map(({ name }) => name);
    expect((await orderTypes()).slice(2)).toEqual([...served, 'Test is read']);
    expect(await codes()).toEqual(served.toSorted());
  });

  it('is shown by metrics and log: metrics have the next time, and the log has each that has come', async () => {
    const switched = await metric('moments_switched_total');
    const later = Date.now() + 86_400_000;
    const at = (moment: number): string => `to_timestamp(${moment / 1000})`;
    await addValue('Test', at(later), at(later + 1_000));
    await nextMoment(later);
    let moment: number;
    do {
      moment = Date.now() + 500;
      await world.database.query(
        `update code_list_value
         set valid_from = ${at(moment)}, valid_until = ${at(moment + 86_400_000)} where value = 'Test'`,
      );
      await nextMoment(moment + 86_400_000);
      await orderTypes(); // the first request after the time counts it
    } while ((await metric('moments_switched_total')) === switched); // the time had passed before the service read it
    expect(await metric('moments_switched_total')).toBe(switched + 1);
    await world.service.waitForLog(
      ({ level, msg, next }) =>
        level === 'info' &&
        msg === 'codes: an effective time has come' &&
        next === new Date(moment + 86_400_000).toISOString(),
    );
    await world.database.query(`delete from code_list_value where value = 'Test'`);
    await nextMoment(0);
  });

  it('is obeyed for a thousand codes within a second, and no code is served that ended long before', async () => {
    // `npm run faults -- moment` measures how late they are
    const LASTS_MS = 100;
    let seen = -1;
    do {
      await world.database.query(`delete from communication_code where code_type = 'TEST'`);
      seen = await lastServed(Date.now() + 1_000, LASTS_MS);
    } while (seen < 0); // the machine stood still until all codes had ended
  });

  /**
   * Adds a thousand codes, one for each millisecond from `base` on, and asks for them until all have ended.
   * @returns the number of the last one that was served
   */
  async function lastServed(base: number, lastsMs: number): Promise<number> {
    await world.database.query(
      `insert into communication_code (code_type, code, description, valid_from, valid_until)
       select 'TEST', 'C' || lpad(n::text, 4, '0'), 'Test',
         to_timestamp(($1::float8 + n) / 1000), to_timestamp(($1::float8 + n + ${lastsMs}) / 1000)
       from generate_series(0, 999) as n`,
      [base],
    );
    const numberOf = (code = ''): number => Number(code.slice(1));
    let seen = -1;
    for (;;) {
      const hasEnded = Date.now() > base + 1_000 + lastsMs;
      const served = await codes();
      if (hasEnded && served.length === 0) return seen;
      await pause(10);
      if (served.length === 0) continue;
      const [first, last] = [numberOf(served[0]), numberOf(served.at(-1))];
      expect(last).toBeGreaterThanOrEqual(seen);
      expect(served).toHaveLength(last - first + 1);
      expect(served.length).toBeLessThanOrEqual(lastsMs); // at most this many are in force at the same time
      expect(base + last).toBeLessThanOrEqual(Date.now());
      seen = last;
    }
  }
});
