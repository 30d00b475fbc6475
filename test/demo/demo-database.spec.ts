// The database of the demo without the rest of the demo. It starts beside everything that an earlier start has left.
import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { DemoDatabase } from '../../src/demo/demo-database.js';
import { testFolder } from '../support/test-folder.js';

const folder = testFolder();
const inData = (name: string): string => join(folder, 'postgres', name);

async function startAndStop(): Promise<void> {
  const database = await DemoDatabase.create(folder);
  await database.start();
  await database.stop();
}

/** Leaves the lock file of a server that started an hour ago. */
function leaveLockFile(content: string): void {
  const hourAgo = new Date(Date.now() - 3_600_000);
  writeFileSync(inData('postmaster.pid'), content);
  utimesSync(inData('postmaster.pid'), hourAgo, hourAgo);
}

it('the database of the demo starts after a full disk has left an empty password', async () => {
  writeFileSync(join(folder, 'postgres-password'), '');
  await expect(startAndStop()).resolves.toBeUndefined();
});

it('the database of the demo starts again beside an empty lock file', async () => {
  await startAndStop();
  leaveLockFile('');
  await expect(startAndStop()).resolves.toBeUndefined();
});

it('the database of the demo starts again after it was killed and another program has its process id', async () => {
  const database = await DemoDatabase.create(folder);
  await database.start();
  const [postmaster = '', ...lines] = readFileSync(inData('postmaster.pid'), 'utf8').split('\n');
  process.kill(Number(postmaster), 'SIGKILL');
  leaveLockFile([process.pid, ...lines].join('\n')); // this program, which goes on
  await expect(startAndStop()).resolves.toBeUndefined();
});

it('the demo says that its data is of another version of PostgreSQL, and how to go on', async () => {
  await startAndStop();
  const version = readFileSync(inData('PG_VERSION'), 'utf8');
  writeFileSync(inData('PG_VERSION'), '9\n');
  await expect(startAndStop()).rejects.toThrow(
    /incompatible with server\. [^\n]* delete \S+\/postgres to start afresh\.$/,
  );
  writeFileSync(inData('PG_VERSION'), version);
});
