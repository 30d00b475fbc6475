// What happens to a plan, and to others, while it looks at what files would do.
import { describe, expect, it } from '@jest/globals';
import type { Outcome } from '../../support/program.js';
import { Proxy } from '../../support/proxy.js';
import { testCopy } from '../../support/test-copy.js';
import { until } from '../../support/until.js';

const { copy, database } = await testCopy(({ urlOf }) => urlOf('order_lookup_owner'));

const SESSIONS = `from pg_stat_activity where datname = current_database()
  and application_name = 'order-lookup-administration'`;
const NO_END = /^The rehearsal came to no end, and nothing was changed: .*\n$/;

function plan(): Promise<Outcome> {
  return copy.run('migrate', 'plan');
}

/** Until the file sleeps. */
async function asleep(): Promise<void> {
  const sleeping = `select ${SESSIONS} and wait_event = 'PgSleep'`;
  await until(async () => (await database.query(sleeping)).length > 0);
}

function addSlowFile(): void {
  copy.add('0100_slow', 'lock table communication_code; select pg_sleep(3600);');
}

describe('a plan beside a writer', () => {
  it('contains nothing that the writer changes', async () => {
    copy.add(
      '0100_add',
      `insert into code_list_value (code_list, value) values ('orderType', 'Transfer');`,
      `delete from code_list_value where value = 'Transfer';`,
    );
    const writer = new Writer();
    const writing = writer.write();
    try {
      for (let round = 0; round < 3; round++) {
        const countBefore = writer.count;
        const { stdout } = await copy.run('migrate', 'plan', '--json');
        expect(JSON.parse(stdout)).toMatchObject({
          changes: [{ name: 'Transfer' }, { name: 'Transfer' }],
          refusals: [],
        });
        await until(async () => writer.count > countBefore);
      }
    } finally {
      writer.isOver = true;
      await writing;
    }
  });

  /** Writes a value and a key again and again, and revokes the key before: each time other ones. */
  class Writer {
    count = 0;
    isOver = false;

    async write(): Promise<void> {
      while (!this.isOver) {
        const number = this.count + 1;
        await database.query(
          `insert into code_list_value (code_list, value) values ('orderType', 'Written ${number}');
           insert into api_key (client, key_hash) values ('Writer ${number}', sha256('${number}'));
           update api_key set revoked_at = now() where client = 'Writer ${this.count}'`,
        );
        this.count = number;
      }
    }
  }

  it('ends with one sentence while the writer holds a lock', async () => {
    copy.add('0100_add', `insert into code_list (name) values ('added');`);
    const holder = await database.session();
    await holder.query('begin; lock table code_list in exclusive mode');
    const outcome = await plan();
    await holder.query('rollback');
    expect(outcome).toEqual({ status: 1, stdout: '', stderr: expect.stringMatching(NO_END) });
  });
});

describe('a plan leaves no lock, and ends,', () => {
  it('where it is killed', async () => {
    addSlowFile();
    const { child, ended } = copy.start('migrate', 'plan');
    await asleep();
    child.kill('SIGKILL');
    expect(await ended).toMatchObject({ stderr: '' });
    await sessionsEnded();
  });

  interface End {
    readonly what: string;
    readonly end: (proxy: Proxy) => Promise<unknown>;
  }

  it.each<End>([
    { what: 'it is cut from its server', end: async (proxy) => proxy.cut() },
    {
      what: 'its server ends it',
      end: () => database.query(`select pg_terminate_backend(pid) ${SESSIONS}`),
    },
  ])('where $what', async ({ end }) => {
    const proxy = await Proxy.before(database.urlOf('order_lookup_owner'));
    copy.environment = { DATABASE_URL: proxy.url };
    addSlowFile();
    const planning = plan();
    await asleep();
    await end(proxy);
    expect(await planning).toMatchObject({ status: 1, stderr: expect.stringMatching(NO_END) });
    await sessionsEnded();
    proxy.close();
  });

  function sessionsEnded(): Promise<void> {
    return until(async () => (await database.query(`select ${SESSIONS}`)).length === 0);
  }
});
