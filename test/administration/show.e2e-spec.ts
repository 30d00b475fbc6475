import { describe, expect, it } from '@jest/globals';
import { AREAS, ORDER_SCHEDULING } from '../../src/lookups/code-rows.js';
import { runLocally } from '../support/local-program.js';
import { localWorld } from '../support/local-world.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';
import type { Outcome } from '../support/program.js';
import { until } from '../support/until.js';

const world = localWorld();

function show(...words: string[]): Promise<Outcome> {
  return runLocally({
    program: 'codes',
    words: ['show', ...words],
    environment: { DATABASE_URL: world.database.urlOf('order_lookup_owner') },
  });
}

async function showAt(time: string): Promise<string> {
  const { status, stdout, stderr } = await show('--at', time);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout;
}

/** The areas with their paths. Both lists have the order of the contract. */
const AREAS_WITH_PATHS = [...AREAS, ORDER_SCHEDULING].map((area, index) => ({
  area,
  path: ALL_PATHS[index] as string,
}));

/** Returns what the service answers, in the form that the command prints. */
async function fetchAnswers(): Promise<string> {
  const parts: string[] = [];
  for (const { area, path } of AREAS_WITH_PATHS) parts.push(`${area}\n${(await world.get(path)).text}\n`);
  return parts.join('\n');
}

/** Commits a change and then a value. When the service answers with the value, it has read the change, too. */
async function commitAndAwait(change: string, value: string): Promise<void> {
  await world.database.query(change);
  await world.database.addValue(value, 'orderStatus');
  await until(async () => (await world.get(PATHS.orderUpdate)).text.includes(value));
}

const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;

describe('codes show', () => {
  it('prints what the service answers now, byte for byte', async () => {
    expect(await show()).toEqual({ status: 0, stdout: await fetchAnswers(), stderr: '' });
  });

  it.each(AREAS_WITH_PATHS)('with --area prints only the answer of $area, byte for byte', async ({ area, path }) => {
    const { stdout } = await show('--area', area);
    expect(stdout).toBe((await world.get(path)).text);
  });

  it('prints with --at what the service answers at that time', async () => {
    const futureMs = Date.now() + HOUR_MS;
    // At the future time a value begins, and all communication codes end
    await commitAndAwait(
      `insert into code_list_value (code_list, value, valid_from) values ('orderType', 'To come', ${toSql(futureMs)});
       update communication_code set valid_until = ${toSql(futureMs)}`,
      'Committed after the change',
    );
    const before = await fetchAnswers();
    const future: string[] = [];
    for (const timeMs of [futureMs - 1, futureMs, futureMs + YEAR_MS]) future.push(await showAt(toIso(timeMs)));

    // The test cannot wait for the future time. So it makes the same codes begin and end now
    await world.database.query(
      `update code_list_value set valid_from = now() where value = 'To come';
       update communication_code set valid_until = now()`,
    );
    await until(async () => (await world.get(PATHS.orderUpdate)).text.includes('To come'));
    const after = await fetchAnswers();
    expect(future).toEqual([before, after, after]);
  });

  function toSql(timeMs: number): string {
    return `to_timestamp(${timeMs / 1_000})`;
  }

  function toIso(timeMs: number): string {
    return new Date(timeMs).toISOString();
  }

  it.each([
    {
      words: ['--at', 'yesterday'],
      sentence: /'yesterday' is invalid\. It is neither a date \(in UTC\) nor a date-time such as/,
    },
    {
      words: ['--at', '2000-01-01T00:00:00Z'],
      sentence: /--at is in the past: by the clock of the database it is \d{4}-\d\d-\d\dT/,
    },
    {
      words: ['--area', 'orders'],
      sentence: /Allowed choices are order-update, order-capture-v2, /,
    },
  ])('refuses $words in one sentence', async ({ words, sentence }) => {
    expect(await readRefusal(...words)).toMatch(sentence);
  });

  it('reads a date as the beginning of that day in UTC', async () => {
    await world.database.query(
      `insert into code_list_value (code_list, value, valid_from, valid_until)
       values ('orderType', 'In force for 1 ms', '2999-01-01T00:00:00Z', '2999-01-01T00:00:00.001Z')`,
    );
    expect(await showAt('2999-01-01')).toContain('In force for 1 ms');
  });

  it('says that callers get the former answers if the codes cannot be served', async () => {
    await world.database.query(
      `create table kept as select * from area_property; delete from area_property where area = 'order-update'`,
    );
    try {
      expect(await readRefusal()).toMatch(
        /^The committed codes cannot be served: the area order-update .*\. Until this is corrected, callers get the former/,
      );
    } finally {
      await world.database.query(
        `insert into area_property select * from kept where area = 'order-update'; drop table kept`,
      );
    }
  });

  /** Returns the one line with which the command refuses. */
  async function readRefusal(...words: string[]): Promise<string> {
    const { status, stdout, stderr } = await show(...words);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/^[^\n]+\n$/);
    return stderr;
  }
});
