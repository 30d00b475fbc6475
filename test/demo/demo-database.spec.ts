// Starts only the database of the demo, with files that an earlier start has left.
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
  const [postmaster = '', ...lines] = readFileSync(inData('postmaster.pid'), 'utf8').split('\n');
  process.kill(Number(postmaster), 'SIGKILL');
  leaveLockFile([process.pid, ...lines].join('\n')); // the process id of this program, which runs
  await expect(startAndStop()).resolves.toBeUndefined();
});

it('the demo says that its data is of another version of PostgreSQL, and what to do', async () => {
  await startAndStop();
  const version = readFileSync(inData('PG_VERSION'), 'utf8');
  writeFileSync(inData('PG_VERSION'), '9\n');
  await expect(startAndStop()).rejects.toThrow(
    /incompatible with server\. [^\n]* delete \S+\/postgres to start afresh\.$/,
  );
  writeFileSync(inData('PG_VERSION'), version);
});
