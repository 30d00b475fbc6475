import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { appendFile, chown, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { PASSWORD, queryAt, withSession } from '../support/database.js';
import { runLine } from '../support/local-program.js';
import { PATHS } from '../support/paths.js';
import { findFreePort } from '../support/ports.js';
import { type PostgresServer, startPostgres } from '../support/postgres-server.js';
import { endOf, startProgram } from '../support/program.js';
import { until } from '../support/until.js';
import { processWorld } from '../support/test-world.js';

const world = processWorld({ replicas: 0, hasOwnPostgres: true });
const hasPooler = spawnSync('pgbouncer', ['--version']).status === 0;
if (!hasPooler) process.stderr.write('SKIPPED: the test behind a transaction pooler needs pgbouncer.\n');

/**
 * Starts Debian's PgBouncer. All its clients share one session of the server: a client has this session during a
 * transaction. Whatever its user name is, a client gets the rights of the user in `url`.
 */
async function startPooler(url: string) {
  const { hostname, port, pathname, username } = new URL(url);
  const [folder, listenPort] = [mkdtempSync(join(tmpdir(), 'pooler-')), await findFreePort()];
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(
    file,
    `[databases]
${pathname.slice(1)} = host=${hostname} port=${port} user=${username} password=${PASSWORD}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listenPort}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 1
`,
  );
  // PgBouncer refuses to run as root, so for root it runs as `nobody`, who must be able to read the folder
  chmodSync(folder, 0o755);
  const asUser = userInfo().uid === 0 ? ['-u', 'nobody'] : [];
  const pooler = startProgram(['pgbouncer', '-q', ...asUser, file], folder, {});
  const pooled = Object.assign(new URL(url), { port: String(listenPort) }).href;
  await until(async () => (await queryAt(pooled, 'select')).length === 1);
  const stop = async (): Promise<void> => {
    pooler.child.kill('SIGINT');
    await endOf(pooler);
    rmSync(folder, { recursive: true });
  };
  return { url: pooled, stop };
}

/** Asserts that two replicas of the service with this DATABASE_URL serve ten changes of the primary. */
async function expectServed(url: string, afterEachChange = async (): Promise<void> => {}): Promise<void> {
  const replicas = await Promise.all([1, 2].map(() => world.startReadyReplica({ DATABASE_URL: url })));
  for (let change = 0; change < 10; change++) {
    const value = `Change ${change} of ${new URL(url).port}`;
    await world.database.query(`update code_list_value set value = '${value}' where code_list = 'partyType'`);
    for (const service of replicas)
      await until(async () => (await world.get(PATHS.orderUpdate, { service })).text.includes(value));
    await afterEachChange();
  }
  for (const replica of replicas) {
    expect(await replica.readMetric('order_lookup_database_up')).toBe(1);
    await replica.kill();
  }
}

/** Makes a base backup, with which another server starts as a hot standby. */
async function backUp(primary: PostgresServer, data: string): Promise<void> {
  const { rows } = await withSession(primary.url, async (client) => {
    await client.query(`select pg_backup_start('standby', true)`);
    await promisify(execFile)('cp', ['-a', primary.data, data]);
    return client.query<{ label: string }>('select labelfile as label from pg_backup_stop(false)');
  });
  await rm(join(data, 'postmaster.pid'));
  await appendFile(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${primary.url}'\n`);
  const { uid, gid } = await stat(data);
  const written = { backup_label: rows[0]?.label ?? '', 'standby.signal': '' };
  for (const [name, text] of Object.entries(written)) {
    await writeFile(join(data, name), text);
    await chown(join(data, name), uid, gid);
  }
}

it('the service serves the changes of the primary if it reads from a hot standby', async () => {
  const standby = await startPostgres((data) => backUp(world.postgres, data));
  const url = new URL(world.database.urlOf('order_lookup_service'));
  await expectServed(Object.assign(url, { port: new URL(standby.url).port }).href);
  await expectStandbyIsNamed(Object.assign(url, { username: 'order_lookup_owner' }).href);
  await standby.remove();
});

/** Asserts that `migrate up` and `keys issue` say in one line that the server is a hot standby, and what to do. */
async function expectStandbyIsNamed(url: string): Promise<void> {
  for (const line of ['migrate up', 'keys issue --client Acme']) {
    const { status, stdout, stderr } = await runLine(line, { DATABASE_URL: url });
    expect({ line, status, stdout }).toEqual({ line, status: 1, stdout: '' });
    expect(stderr).toMatch(/^.* This server is a hot standby, .*: name the primary in the connection string\..*\n$/);
  }
}

/** Settings that PgBouncer itself sets for each of its clients. */
const RESTORED_BY_PGBOUNCER = `'application_name', 'client_encoding', 'DateStyle', 'standard_conforming_strings'`;

(hasPooler ? it : it.skip)(
  'replicas behind PgBouncer serve changes, and leave no setting to the next client of a session',
  async () => {
    const pooler = await startPooler(world.database.urlOf('order_lookup_service'));
    await expectServed(pooler.url, async () =>
      expect(
        await queryAt(
          pooler.url,
          `select name, setting from pg_settings where setting is distinct from reset_val and source = 'session'
             and name not in (${RESTORED_BY_PGBOUNCER})`,
        ),
      ).toEqual([]),
    );
    await pooler.stop();
  },
);
