// Tests plans while other sessions use the database, and plans that end early.
import { describe, expect, it } from '@jest/globals';
import { issueKey } from '../../support/api-keys.js';
import { type Outcome, endOf } from '../../support/program.js';
import { useProgramCopy } from '../../support/project-copy.js';
import { Proxy } from '../../support/proxy.js';
import { until } from '../../support/until.js';

const { copy, database } = await useProgramCopy(({ urlOf }) => urlOf('order_lookup_owner'));

const FROM_OUR_SESSIONS = `from pg_stat_activity where datname = current_database()
  and application_name = 'order-lookup-administration'`;
const NOT_FINISHED = /^The dry run was not finished, and nothing was changed: .*\n$/s;

/** An advisory lock that a test holds, and for which a migration waits. */
const LOCK = 4712;

function plan(): Promise<Outcome> {
  return copy.run('migrate', 'plan');
}

async function untilMigrationSleeps(planning: Promise<unknown>): Promise<void> {
  const sleeping = `select ${FROM_OUR_SESSIONS} and wait_event = 'PgSleep'`;
  await until(async () => (await database.query(sleeping)).length > 0, { during: planning });
}

function untilSessionsHaveEnded(): Promise<void> {
  return until(async () => (await database.query(`select ${FROM_OUR_SESSIONS}`)).length === 0);
}

function addSlowFile(sql: string): void {
  copy.add('0100_slow', `${sql}; select pg_sleep(3600);`);
}

describe('a plan, while others use the database,', () => {
  it('blocks neither the revocation of a key nor a change of codes, if no migration touches their tables', async () => {
    const keys = await Promise.all(['Acme', 'Other'].map((client) => issueKey(database, { client })));
    addSlowFile('create table slow ()');
    const planning = plan();
    await untilMigrationSleeps(planning);
    await endOf(copy.start('keys', 'revoke', keys[0]?.id ?? ''));
    await database.addValue('Meanwhile');
    const states = await database.query('select client from api_key where revoked_at is null');
    expect(states).toEqual([{ client: 'Other' }]);
    await database.query(`select pg_cancel_backend(pid) ${FROM_OUR_SESSIONS} and wait_event = 'PgSleep'`);
    await planning;
  });

  it('does not report a key that somebody else revokes during the plan', async () => {
    const { id } = await issueKey(database, { client: 'Acme' });
    const planning = planDuring(async () => {
      await database.query('update api_key set revoked_at = now() where id = $1', [id]);
    });
    expect(await planning).toMatchObject({ status: 0, stdout: expect.stringContaining('Callers see no difference.') });
  });

  it('reports a key that the migration deletes, also if somebody else rotates it during the plan', async () => {
    const { id } = await issueKey(database, { client: 'Rotated' });
    const rotate = () =>
      database.query(`update api_key set revoked_at = now() + interval '7 days' where id = $1`, [id]);
    const planning = planDuring(rotate, `delete from api_key where id = '${id}';`);
    expect(await planning).toMatchObject({ status: 2, stdout: expect.stringContaining('keys of Rotated\n') });
  });

  it('says that it has to be repeated if somebody changes codes during the plan', async () => {
    const planning = planDuring(() => database.addValue('Between'));
    expect(await planning).toEqual({
      status: 1,
      stdout: '',
      stderr: 'Somebody else changed codes while the migrations were tried. Run the command again.\n',
    });
  });

  /** Runs a plan whose migration waits for a lock until `act` is done, and then runs the SQL. */
  async function planDuring(act: () => Promise<unknown>, sql = ''): Promise<Outcome> {
    const holder = await database.session();
    await holder.query(`select pg_advisory_lock(${LOCK})`);
    // On a slow machine the wait would reach the usual lock_timeout
    copy.add('0100_wait', `set local lock_timeout = 0; select pg_advisory_xact_lock(${LOCK}); ${sql}`);
    const planning = plan();
    const waiting = `select ${FROM_OUR_SESSIONS} and wait_event = 'advisory'`;
    await until(async () => (await database.query(waiting)).length > 0, { during: planning });
    await act();
    await holder.query(`select pg_advisory_unlock(${LOCK})`);
    return planning;
  }

  it('says that nothing was changed, and what to do, if another session does not release a lock', async () => {
    copy.add('0100_add', `insert into code_list (name) values ('added');`);
    const holder = await database.session();
    await holder.query('begin; lock table code_list in exclusive mode');
    const outcome = await plan();
    await holder.query('rollback');
    expect(outcome).toEqual({ status: 1, stdout: '', stderr: expect.stringMatching(NOT_FINISHED) });
  });
});

describe('a plan leaves no session, and so no lock,', () => {
  it('if it is killed', async () => {
    addSlowFile('lock table communication_code');
    const running = copy.start('migrate', 'plan');
    await untilMigrationSleeps(running.ended);
    running.child.kill('SIGKILL');
    expect(await endOf(running)).toMatchObject({ stderr: '' });
    await untilSessionsHaveEnded();
  });

  interface End {
    readonly what: string;
    readonly end: (proxy: Proxy) => Promise<unknown>;
  }

  it.each<End>([
    { what: 'its connection is cut', end: async (proxy) => proxy.cut() },
    {
      what: 'PostgreSQL ends its session',
      end: () => database.query(`select pg_terminate_backend(pid) ${FROM_OUR_SESSIONS}`),
    },
  ])('if $what, and its message names the migration', async ({ end }) => {
    const proxy = await Proxy.before(database.urlOf('order_lookup_owner'));
    copy.environment = { DATABASE_URL: proxy.url };
    addSlowFile('lock table communication_code');
    const planning = plan();
    await untilMigrationSleeps(planning);
    await end(proxy);
    const { status, stderr } = await planning;
    proxy.close();
    await untilSessionsHaveEnded();
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringMatching(NOT_FINISHED) });
    expect(stderr).toContain('nothing was changed: 0100_slow.sql: '); // the reason names the migration
  });
});
