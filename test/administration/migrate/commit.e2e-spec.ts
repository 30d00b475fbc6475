// COMMIT without an answer: nobody knows whether the file counts, and the command says so.
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { createDatabase } from '../../support/database.js';
import { listen } from '../../support/listen.js';
import { startMigratedPostgres } from '../../support/migrated-postgres.js';
import { NAMES, edit } from '../../support/program-copy.js';
import { testCopy } from '../../support/test-copy.js';
import { until } from '../../support/until.js';

const { copy, database } = await testCopy();
// The limit that people wait for is 20 s. No COMMIT of this copy is meant to get its answer
edit(
  join(copy.folder, 'dist/administration/frame/commit.js'),
  /LIMIT_MS = [\d_]+/g,
  'LIMIT_MS = 100',
);

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

it.each<{ loss: Loss; names: string[] }>([
  { loss: 'cut before', names: NAMES },
  { loss: 'silent before', names: NAMES },
  { loss: 'cut after', names: [...NAMES, '0100_add'] },
])(
  'up says that it is not known where the way is $loss COMMIT arrives',
  async ({ loss, names }) => {
    copy.add('0100_add', 'create table added ();');
    const lossy = await loseCommit(database.url, loss);
    copy.environment = { DATABASE_URL: lossy.url };
    const outcome = await copy.run('migrate', 'up');
    lossy.close();
    expect(outcome).toEqual({ status: 1, stdout: '', stderr: expect.stringMatching(UNKNOWN) });
    // Its session ends by itself
    const sessions = `select from pg_stat_activity where datname = current_database()
    and application_name = 'order-lookup-administration'`;
    await until(async () => (await database.query(sessions)).length === 0);
    const applied = await database.query('select name from public.pgmigrations order by id');
    expect(applied.map(({ name }) => name)).toEqual(names);
  },
);

it('up says the same where a synchronous standby is lost, and a key command, too', async () => {
  const server = await startMigratedPostgres();
  // The transaction that waits for the standby holds its locks, so the key is issued in another database
  const codes = await createDatabase({ server: server.url });
  const keys = await createDatabase({ server: server.url });
  await codes.query(`alter system set synchronous_standby_names = 'gone'`);
  await codes.query('select pg_reload_conf()');
  await until(async () => {
    const [row] = await codes.query('show synchronous_standby_names');
    return row?.['synchronous_standby_names'] === 'gone';
  });
  copy.add('0100_add', 'create table added ();');
  copy.environment = { DATABASE_URL: codes.url };
  expect(await copy.run('migrate', 'up')).toEqual({
    status: 1,
    stdout: '',
    stderr: expect.stringMatching(UNKNOWN),
  });
  copy.environment = { DATABASE_URL: keys.url };
  expect(await copy.run('keys', 'issue', '--client', 'Acme')).toEqual({
    status: 1,
    stdout: '',
    stderr: expect.stringMatching(/^COMMIT got no answer .*\n$/),
  });
  await codes.close();
  await keys.close();
  await server.remove();
});
