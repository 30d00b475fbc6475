import { afterAll, describe, expect, it } from '@jest/globals';
import { createDatabase } from '../../../test/support/database.js';
import type { Work } from '../../database/database.js';
import { type Limits, describeKind } from '../../database/transactions.js';
import { withDatabase } from '../cli/connection.js';
import { dryRun } from './dry-run.js';

const database = await createDatabase();
const address = { DATABASE_URL: database.url };
afterAll(() => database.drop());

const UNFINISHED =
  /^The dry run was not finished, and nothing was changed: .*\. Run the command again\. If other sessions write meanwhile, choose/;

function run<T>(work: Work<T>, limits?: Partial<Limits>): Promise<T> {
  return withDatabase((used) => dryRun(used, work, limits), address);
}

describe('a dry run whose work fails', () => {
  it('passes an error of the program on unchanged', async () => {
    const error = new TypeError('undefined is not a function');
    await expect(run(() => Promise.reject(error))).rejects.toBe(error);
  });

  it('passes an error of SQL on unchanged', async () => {
    await expect(run((session) => session.query('select nope'))).rejects.toThrow(/^column "nope" does not exist$/);
  });

  it.each([
    { what: 'the connection is lost', sql: 'select pg_terminate_backend(pg_backend_pid())' },
    { what: 'PostgreSQL ends a deadlock', sql: `do $$ begin raise sqlstate '40P01'; end $$` },
    { what: 'a limit is reached', sql: `set local statement_timeout = 1; select pg_sleep(3600)` },
  ])('says that it was not finished if $what', async ({ sql }) => {
    await expect(run((session) => session.query(sql))).rejects.toThrow(UNFINISHED);
  });

  it('names a query that shows which session has the lock, if a lock is not available', async () => {
    const holder = await database.session();
    await holder.query('begin; lock table code_list');
    const waiting = run((session) => session.query('table code_list'), { lockMs: 1 });
    await expect(waiting).rejects.toThrow(
      /canceling statement due to lock timeout\. Another session holds a lock\. .* from pg_locks join pg_stat_activity/,
    );
    await holder.query('rollback');
  });
});

it('a dry run has limits: 3 s for a lock, 20 s for a statement, and 20 s for all statements together', async () => {
  const limits = await run(async (session) => {
    const settings = [await session.query('show lock_timeout'), await session.query('show statement_timeout')];
    return settings.flatMap(({ rows }) => rows as unknown[]);
  });
  expect(limits).toEqual([{ lock_timeout: '3s' }, { statement_timeout: '20s' }]);
  expect(describeKind('dryRun').totalMs).toBe(20_000);
});

it('a dry run of many short statements ends after its time limit, and leaves no lock', async () => {
  const endless = run(
    async (session) => {
      await session.query('lock table communication_code');
      for (;;) await session.query('select pg_sleep(0.1)');
    },
    { totalMs: 1_000 },
  );
  await expect(endless).rejects.toThrow(
    'The dry run was not finished, and nothing was changed: the transaction took longer than 1 s.',
  );
  // If the lock were still there, this query would never end
  expect(await database.query('table communication_code')).toEqual([]);
});
