// Tests of runs that are disturbed: by another run, by a lost connection, or by a file that is removed meanwhile.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { PG_MIGRATE_LOCK_ID } from 'node-pg-migrate';
import { useProgramCopy } from '../../../test/support/project-copy.js';
import { until } from '../../../test/support/until.js';
import type * as Connection from '../cli/connection.js';
import type * as Run from './run-migrations.js';

const { copy, database } = await useProgramCopy();
const address = { DATABASE_URL: database.urlOf('order_lookup_owner') };
// The copy's module applies the copy's migrations
const module = join(copy.folder, 'dist/administration/migrate/run-migrations.js');
const { applyPending, undo: undoIn } = (await import(module)) as typeof Run;
const { withDatabase } = (await import(
  join(copy.folder, 'dist/administration/cli/connection.js')
)) as typeof Connection;
const undo = (names: string[]) => withDatabase((used) => undoIn(used, names), address);

const TEST_LOCK = 4711;
const WAIT = `select pg_advisory_xact_lock(${TEST_LOCK});`;
const NOTHING = 'select 1;';

const applied = async () => {
  const rows = await database.query('select name from public.pgmigrations order by id');
  return rows.map(({ name }) => name);
};
const isWaitedFor = async (lock: number) => {
  // pg_locks has the upper half of the lock's number in classid, and the lower half in objid
  const waiting = await database.query(
    `select from pg_locks where locktype = 'advisory' and not granted and (classid::bigint << 32) + objid::bigint = $1`,
    [lock],
  );
  return waiting.length > 0;
};

/** Starts a run, and calls `act` while the migration with WAIT waits for the lock. */
async function meanwhile<T>(run: () => Promise<T>, act: () => unknown): Promise<T> {
  const holder = await database.session();
  await holder.query(`select pg_advisory_lock(${TEST_LOCK})`);
  const running = run();
  await until(() => isWaitedFor(TEST_LOCK));
  await act();
  await holder.query(`select pg_advisory_unlock(${TEST_LOCK})`);
  return running;
}

afterEach(async () => {
  // Undoing needs the files of all applied migrations, and down parts that wait for no lock
  for (const name of ['0101_second', '0100_first']) copy.add(name, NOTHING, NOTHING);
  const names = (await applied()).filter((name) => /^010/.test(`${name}`));
  if (names.length > 0) await undo(names.toReversed() as string[]);
});

it('undoes nothing if another migration was applied after the list for `down` was shown', async () => {
  copy.add('0100_first', NOTHING, NOTHING);
  await applyPending(address);
  copy.add('0101_second', NOTHING, NOTHING);
  await applyPending(address);
  await expect(undo(['0100_first'])).rejects.toThrow(
    '0101_second would be undone, but 0100_first was shown: another run has applied or undone a migration. ' +
      'Nothing was undone.',
  );
  expect((await applied()).slice(-2)).toEqual(['0100_first', '0101_second']);
  expect(await undo(['0101_second'])).toEqual(['0101_second']);
  expect(await undo(['0100_first'])).toEqual(['0100_first']);
});

it('says what it has undone if the next migration to undo is not the one that was shown', async () => {
  for (const name of ['0100_first', '0101_second', '0102_third']) copy.add(name, NOTHING, NOTHING);
  await applyPending(address);
  await expect(undo(['0102_third', '0100_first'])).rejects.toThrow(
    '0101_second would be undone, but 0100_first was shown: another run has applied or undone a migration. ' +
      'Already undone: 0102_third. Run this again.',
  );
  expect((await applied()).slice(-2)).toEqual(['0100_first', '0101_second']);
});

it('undoes nothing if a migration that was shown is already undone', async () => {
  copy.add('0100_first', NOTHING, NOTHING);
  copy.add('0101_second', NOTHING, NOTHING);
  await applyPending(address);
  await undo(['0101_second']);
  await expect(undo(['0101_second', '0100_first'])).rejects.toThrow(
    '0100_first would be undone, but 0101_second was shown',
  );
  expect((await applied()).at(-1)).toBe('0100_first');
});

it('says which migration is not applied any more if another run has undone all', async () => {
  await database.query('create table kept as select * from pgmigrations; delete from pgmigrations');
  await expect(undo(['0101_second', '0100_first'])).rejects.toThrow(
    '0101_second is not applied any more: another run has undone it.',
  );
  await database.query('insert into pgmigrations select * from kept; drop table kept');
});

it('undoes in a new session if the session that read the list was lost before the operator answered', async () => {
  copy.add('0100_first', NOTHING, NOTHING);
  copy.add('0101_second', NOTHING, NOTHING);
  await applyPending(address);
  const undone = await withDatabase(async (used) => {
    const [pid] = await used.within('read', async (session) => {
      const { rows } = await session.query<{ pid: number }>('select pg_backend_pid() as pid');
      return rows.map((row) => row.pid);
    });
    await database.query('select pg_terminate_backend($1)', [pid]);
    await until(async () => (await database.query('select from pg_stat_activity where pid = $1', [pid])).length === 0);
    return undoIn(used, ['0101_second', '0100_first']);
  }, address);
  expect(undone).toEqual(['0101_second', '0100_first']);
});

it('no other run begins between two migrations that one run undoes', async () => {
  copy.add('0100_first', NOTHING, NOTHING);
  copy.add('0101_second', NOTHING, WAIT);
  await applyPending(address);
  const other = await database.session();
  let seenByOther: Promise<unknown[]> | undefined;
  await meanwhile(
    () => undo(['0101_second', '0100_first']),
    async () => {
      seenByOther = other.query(`select pg_advisory_lock(${PG_MIGRATE_LOCK_ID})`).then(applied);
      await until(() => isWaitedFor(PG_MIGRATE_LOCK_ID));
    },
  );
  expect(await seenByOther).not.toContain('0100_first');
  await other.query(`select pg_advisory_unlock(${PG_MIGRATE_LOCK_ID})`);
});

it('names the migration whose file cannot be read', async () => {
  copy.add('0100_first', WAIT, NOTHING);
  copy.add('0101_second', NOTHING, NOTHING);
  const running = meanwhile(
    () => applyPending(address),
    () => rmSync(join(copy.migrations, '0101_second.sql')),
  );
  await expect(running).rejects.toThrow(/^0101_second\.sql cannot be read: .*ENOENT.*\.$/);
});

it('if the connection is lost, names the command that shows the applied migrations', async () => {
  copy.add('0100_first', 'select pg_terminate_backend(pg_backend_pid());', NOTHING);
  await expect(applyPending(address)).rejects.toThrow(
    /^0100_first\.sql: terminating connection .*\. The connection was lost\. To see what is applied: .*migrate.* status$/,
  );
});
