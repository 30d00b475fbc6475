// Starts only the database of the demo, with files that an earlier start has left.
import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it, jest } from '@jest/globals';
import { DemoDatabase } from '../../src/demo/demo-database.js';
import { findPrograms } from '../../src/demo/postgres-programs.js';
import { PostgresServer } from '../../src/demo/postgres-server.js';
import { findFreePort, listen } from '../support/ports.js';
import { IS_STARTING } from '../support/postgres-protocol.js';
import { useTestFolder } from '../support/test-folder.js';

const folder = useTestFolder();
const pathInData = (name: string): string => join(folder, 'postgres', name);

async function startAndStop(): Promise<void> {
  const database = await DemoDatabase.create(folder);
  await database.start();
  await database.stop();
}

/** Leaves the lock file of a server that started an hour ago. */
function leaveLockFile(content: string): void {
  const hourAgo = new Date(Date.now() - 3_600_000);
  writeFileSync(pathInData('postmaster.pid'), content);
  utimesSync(pathInData('postmaster.pid'), hourAgo, hourAgo);
}

it('the database of the demo starts if a full disk has left an empty password file', async () => {
  writeFileSync(join(folder, 'postgres-password'), '');
  await expect(startAndStop()).resolves.toBeUndefined();
});

it('the database of the demo starts again if there is an empty lock file', async () => {
  await startAndStop();
  leaveLockFile('');
  await expect(startAndStop()).resolves.toBeUndefined();
});

it('the database of the demo starts again if it was killed and another program has its process id', async () => {
  const database = await DemoDatabase.create(folder);
  await database.start();
  const [postmaster = '', ...lines] = readFileSync(pathInData('postmaster.pid'), 'utf8').split('\n');
  process.kill(Number(postmaster), 'SIGKILL');
  leaveLockFile([process.pid, ...lines].join('\n')); // the process id of this program, which runs
  await expect(startAndStop()).resolves.toBeUndefined();
});

it('the demo waits for a server that still repairs its data, also if its lock file is old', async () => {
  await startAndStop();
  const server = new PostgresServer(await findPrograms(), folder);
  const port = await findFreePort();
  await server.start(port);
  let refusalsLeft = 2;
  const repairing = createServer((client) => {
    refusalsLeft -= 1;
    if (refusalsLeft < 0) client.pipe(connect(port, '127.0.0.1')).pipe(client);
    else client.once('data', () => client.end(IS_STARTING));
  });
  repairing.unref(); // so that the runner ends even if the test fails
  const repairingPort = String(await listen(repairing));
  leaveLockFile(readFileSync(pathInData('postmaster.pid'), 'utf8').replace(`\n${port}\n`, `\n${repairingPort}\n`));
  const database = await DemoDatabase.create(folder);
  await database.start();
  expect(new URL(database.url).port).toBe(repairingPort);
  await database.stop();
  repairing.close();
});

it('the demo uses the server that another demo starts at the same time', async () => {
  const programs = await findPrograms();
  const server = new PostgresServer(programs, folder);
  const start = jest.spyOn(server, 'start').mockImplementationOnce(async () => {
    await new PostgresServer(programs, folder).start(await findFreePort());
    throw new Error('lock file "postmaster.pid" already exists');
  });
  const database = new DemoDatabase(server);
  await database.start();
  expect(start).toHaveBeenCalledTimes(1);
  await database.stop();
});

it('the demo says that its data is of another version of PostgreSQL, and what to do', async () => {
  await startAndStop();
  const version = readFileSync(pathInData('PG_VERSION'), 'utf8');
  writeFileSync(pathInData('PG_VERSION'), '9\n');
  await expect(startAndStop()).rejects.toThrow(
    /incompatible with server\. [^\n]* delete \S+\/postgres to start afresh\.$/,
  );
  writeFileSync(pathInData('PG_VERSION'), version);
});

it('the demo stops a server that starts at the third attempt but accepts no session, and then fails', async () => {
  const server = new PostgresServer(await findPrograms(), folder);
  const start = jest.spyOn(server, 'start').mockResolvedValue();
  for (const _ of [1, 2]) start.mockRejectedValueOnce(new Error('the port is taken'));
  const stop = jest.spyOn(server, 'stop');
  await expect(new DemoDatabase(server).start()).rejects.toThrow(
    'The database of the demo does not start: its server accepts no session. Its log is',
  );
  expect([start.mock.calls.length, stop.mock.calls.length]).toEqual([3, 1]);
});
