import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type TestDatabase, createDatabase } from '../../support/database.js';
import { NAMES, ProgramCopy } from '../../support/program-copy.js';

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
      stdout: `Pending: 0102_add_communication_codes\n\norder-scheduling\n    + record APPOINTMENT CONFIRMED added\n    + record APPOINTMENT DECLINED added\n\nNothing here breaks clients.\nNothing was changed: this was a plan.\n`,
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
