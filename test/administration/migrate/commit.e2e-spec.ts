// COMMIT without an answer: nobody knows whether the file counts, and the command says so.
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type TestDatabase, createDatabase } from '../../support/database.js';
import { listen } from '../../support/listen.js';
import { startMigratedPostgres } from '../../support/migrated-postgres.js';
import type { PostgresServer } from '../../support/postgres-server.js';
import { NAMES, edit } from '../../support/program-copy.js';
import { testCopy } from '../../support/test-copy.js';
import { until } from '../../support/until.js';

const { copy, database } = await testCopy();
// The limit that people wait for is 20 s. No COMMIT of this copy is meant to get its answer
edit(join(copy.folder, 'dist/administration/frame/commit.js'), /LIMIT_MS = [\d_]+/g, 'LIMIT_MS = 100');

const UNKNOWN = new RegExp(
  [
    String.raw`^COMMIT got no answer \(.*\): it is not known whether the change counts\. .*`,
    String.raw`It was the COMMIT of 0100_add\. What is applied: node dist/migrate\.js status\n$`,
  ].join('\n'),
);

type Loss = 'cut before' | 'silent before' | 'cut after';

/** A way to the database that is lost at the first COMMIT: before it arrives, or before its answer does. */
async function loseCommit(url: string, loss: Loss): Promise<{ url: string; close(): void }> {
  const { hostname, port } = new URL(url);
  let isLost = false;
  const server = createServer((socket) => {
    const upstream = connect(Number(port), hostname);
    let isSilent = false;
    for (const end of [socket, upstream]) end.on('error', () => undefined);
    upstream.on('data', (bytes) => {
      if (!isSilent) socket.write(bytes);
    });
    upstream.on('close', () => {
      if (!isSilent) socket.destroy();
    });
    socket.on('close', () => {
      if (!isSilent) upstream.destroy();
    });
    socket.on('data', (bytes) => {
      const isCommit = !isLost && bytes.includes('commit\0');
      if (!isCommit) {
        if (!isSilent) upstream.write(bytes);
        return;
      }
      isLost = true;
      if (loss === 'cut before') upstream.destroy();
      if (loss === 'silent before') isSilent = true;
      if (loss === 'cut after') {
        upstream.removeAllListeners('data').once('data', () => upstream.destroy());
        upstream.write(bytes);
      }
    });
  });
  const address = Object.assign(new URL(url), { port: await listen(server) });
  return { url: address.href, close: () => server.close() };
}

interface LossCase {
  readonly what: string;
  readonly loss: Loss;
  /** What is applied in the end. */
  readonly names: readonly string[];
}

it.each<LossCase>([
  { what: 'the connection is cut before COMMIT arrives', loss: 'cut before', names: NAMES },
  {
    what: 'the connection falls silent before COMMIT arrives',
    loss: 'silent before',
    names: NAMES,
  },
  {
    what: 'the connection is cut before the answer to COMMIT arrives',
    loss: 'cut after',
    names: [...NAMES, '0100_add'],
  },
])('up says that it is not known whether the file counts where $what', async ({ loss, names }) => {
  copy.add('0100_add', 'create table added ();');
  const lossy = await loseCommit(database.url, loss);
  copy.environment = { DATABASE_URL: lossy.url };
  try {
    const outcome = await copy.run('migrate', 'up');
    expect(outcome).toEqual({ status: 1, stdout: '', stderr: expect.stringMatching(UNKNOWN) });
  } finally {
    lossy.close();
  }
  // Its session ends by itself
  const sessions = `select from pg_stat_activity where datname = current_database()
    and application_name = 'order-lookup-administration'`;
  await until(async () => (await database.query(sessions)).length === 0);
  const applied = await database.query('select name from public.pgmigrations order by id');
  expect(applied.map(({ name }) => name)).toEqual(names);
});

describe('where a synchronous standby is lost', () => {
  let server: PostgresServer;
  /** The transaction that waits for the standby holds its locks, so a key is issued in another database. */
  let codes: TestDatabase;
  let keys: TestDatabase;

  beforeAll(async () => {
    server = await startMigratedPostgres();
    codes = await createDatabase({ server: server.url });
    keys = await createDatabase({ server: server.url });
    await codes.query(`alter system set synchronous_standby_names = 'gone'`);
    await codes.query('select pg_reload_conf()');
    await until(async () => {
      const [row] = await codes.query('show synchronous_standby_names');
      return row?.['synchronous_standby_names'] === 'gone';
    });
  });
  afterAll(async () => {
    await codes?.close();
    await keys?.close();
    await server?.remove();
  });

  it('up says that it is not known whether the file counts', async () => {
    copy.add('0100_add', 'create table added ();');
    copy.environment = { DATABASE_URL: codes.url };
    expect(await copy.run('migrate', 'up')).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(UNKNOWN),
    });
  });

  it('so does a key command', async () => {
    copy.environment = { DATABASE_URL: keys.url };
    expect(await copy.run('keys', 'issue', '--client', 'Acme')).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/^COMMIT got no answer .*\n$/),
    });
  });
});
