import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { type TestDatabase, createDatabase } from '../../support/database.js';
import { planSteps } from '../../../src/administration/migrate/plan/plan-migrations.js';
import {
  applyMigrations,
  undoMigrations,
} from '../../../src/administration/migrate/run-migrations.js';
import { stepsUp } from '../../../src/administration/migrate/steps.js';
import { NAMES, ProgramCopy } from '../../support/program-copy.js';
import { until } from '../../support/service.js';

const EXAMPLES = join(import.meta.dirname, 'plan-examples');

let copy: ProgramCopy;
let database: TestDatabase;

beforeAll(() => {
  copy = new ProgramCopy();
});
afterAll(() => copy.remove());
beforeEach(() => copy.reset());
afterEach(() => database?.drop());

const use = async (migrated = true): Promise<void> => {
  database = await createDatabase({ migrated });
  copy.environment = { DATABASE_URL: database.url };
};
const migrate = (...words: string[]) => copy.migrate(...words);
const applied = async (): Promise<string[]> =>
  (
    await database.query<{ name: string }>('select name from public.applied_migration order by id')
  ).map(({ name }) => name);

describe('migrate plan', () => {
  it.each([
    [
      '0100_add_order_type',
      0,
      [{ kind: 'added', what: 'value', property: 'orderType', name: 'Transfer' }],
    ],
    [
      '0101_rename_and_retire',
      2,
      [
        {
          kind: 'renamed',
          what: 'value',
          property: 'equipmentType',
          name: 'FlatBed',
          to: 'Flatbed',
        },
        { kind: 'removed', what: 'value', property: 'transportationMode', name: 'Best' },
      ],
    ],
  ])(
    'shows what %s changes in both areas, with status %i, and changes nothing',
    async (name, status, changes) => {
      await use();
      copyFileSync(join(EXAMPLES, `${name}.sql`), join(copy.migrations, `${name}.sql`));
      const outcome = await migrate('plan', '--json');
      expect({ status: outcome.status, stderr: outcome.stderr }).toEqual({ status, stderr: '' });
      expect(JSON.parse(outcome.stdout)).toEqual({
        migrations: [name],
        canBreakClients: status === 2,
        changes: ['order-update', 'order-capture-v2'].flatMap((area) =>
          changes.map((change) => ({ ...change, area })),
        ),
      });
      expect(await applied()).toEqual(NAMES);
      expect(
        (await database.query(`select from code_list_value where value in ('Transfer', 'Flatbed')`))
          .length,
      ).toBe(0);
    },
  );

  it('shows added records, and says that callers are safe', async () => {
    await use();
    copyFileSync(
      join(EXAMPLES, '0102_add_communication_codes.sql'),
      join(copy.migrations, '0102_add_communication_codes.sql'),
    );
    expect(await migrate('plan')).toEqual({
      status: 0,
      stderr: '',
      stdout: `Pending: 0102_add_communication_codes\n\norder-scheduling\n    + record codeType "APPOINTMENT", code "CONFIRMED": "The consumer confirmed the appointment" added\n    + record codeType "APPOINTMENT", code "DECLINED": "The consumer declined the appointment" added\n\nNothing here breaks clients.\nNothing was changed: this was a plan.\n`,
    });
  });

  it('works from an empty database', async () => {
    await use(false);
    const { status, stdout } = await migrate('plan');
    expect(status).toBe(0);
    expect(stdout).toContain('+ property orderType added');
    expect(
      await database.query(
        `select to_regclass('code_list') as gone, to_regclass('applied_migration') as gone_too`,
      ),
    ).toEqual([{ gone: null, gone_too: null }]);
  });
});

describe('a plan beside others', () => {
  const open = async (): Promise<Client> => {
    const client = new Client(database.urlOf('order_lookup_owner'));
    client.on('error', () => undefined);
    await client.connect();
    return client;
  };

  it('contains nothing that another session changes, again and again', async () => {
    await use();
    copy.add(
      '0100_add',
      `insert into code_list_value (code_list, value) values ('orderType', 'Planned');`,
    );
    const over = new AbortController();
    const writer = (async () => {
      let commits = 0;
      for (; !over.signal.aborted; commits += 2) {
        await database.query(
          `insert into code_list_value (code_list, value) values ('orderType', 'Written')`,
        );
        await database.query(`delete from code_list_value where value = 'Written'`);
        await pause(5);
      }
      return commits;
    })();
    try {
      for (let round = 0; round < 10; round++) {
        const { changes } = await planSteps(open, await stepsUp(copy.migrations));
        expect(
          changes.map((change) => 'name' in change && `${change.kind} ${change.name}`),
        ).toEqual(['added Planned', 'added Planned']);
      }
    } finally {
      over.abort();
    }
    expect(await writer).toBeGreaterThan(0);
  });

  it('is rolled back when a writer waits, and succeeds in the end', async () => {
    await use();
    // A sequence remembers the first attempt, which would hold its lock for an hour
    await database.query('create sequence attempt; grant usage on attempt to order_lookup_owner');
    copy.add(
      '0100_slow',
      `lock table communication_code in exclusive mode;
       select pg_sleep(case nextval('attempt') when 1 then 3600 else 0 end);`,
    );
    const planned = planSteps(open, await stepsUp(copy.migrations));
    await until(
      async () =>
        (
          await database.query(
            `select from pg_locks where mode = 'ExclusiveLock' and relation = 'communication_code'::regclass`,
          )
        ).length > 0,
    );
    await database.query(`insert into communication_code values ('T', '1', 'Written')`);
    expect(await planned).toMatchObject({ migrations: ['0100_slow'], changes: [] });
    expect(await database.query('select last_value::int as attempts from attempt')).toEqual([
      { attempts: 2 },
    ]);
  });

  it('undoes nothing but what was shown', async () => {
    await use();
    for (const name of ['0100_shown', '0101_later']) {
      copy.add(name, 'select 1;', 'select 1;');
      await applyMigrations(copy.migrations, open);
    }
    await expect(undoMigrations(copy.migrations, open, 1, ['0100_shown'])).rejects.toThrow(
      'Another run has applied or undone migrations meanwhile: 0101_later is the last one now.',
    );
    expect(await applied()).toEqual([...NAMES, '0100_shown', '0101_later']);
  });

  it('shows moments, and what it would undo', async () => {
    await use();
    copy.add(
      '0100_schedule',
      `update code_list_value set valid_until = date_trunc('day', now(), 'UTC') + interval '5 days' where value = 'Best';`,
      `update code_list_value set valid_until = null where value = 'Best';`,
    );
    const { status, stdout } = await migrate('plan', '--notice', '7');
    expect(status).toBe(2);
    expect(stdout).toMatch(
      /at \d{4}-\d\d-\d\dT00:00:00\.000Z, order-update\n {2}! - value transportationMode: Best removed \(in 4 days: the notice is 7\)/,
    );
    expect(await migrate('plan', '--notice', '3')).toMatchObject({ status: 0 });
    expect((await migrate('plan', '--notice', '7', '--markdown')).stdout).toMatch(/^### Plan: ⚠️/);
    expect(await migrate('up')).toMatchObject({ status: 0 });
    copy.environment['NODE_ENV'] = 'production';
    expect(await migrate('down')).toEqual({
      status: 1,
      stdout: expect.stringContaining('value transportationMode: Best no longer removed'),
      stderr:
        'Nothing was undone, since NODE_ENV is production. To do it nevertheless, add --yes\n',
    });
    expect(await migrate('down', '--yes')).toMatchObject({ status: 0, stderr: '' });
    delete copy.environment['NODE_ENV'];
    expect(await migrate('down', String(NAMES.length))).toMatchObject({
      status: 1,
      stderr:
        'Nothing was undone, since the tables api_key and history would be lost. To do it nevertheless, add --yes\n',
    });
    expect(await applied()).toEqual(NAMES);
  });
});
