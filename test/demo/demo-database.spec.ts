// The database of the demo without the rest: it starts beside whatever a killed server left.
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

/** Of a server that started an hour ago. */
function leaveLockFile(content: string): void {
  const hourAgo = new Date(Date.now() - 3_600_000);
  writeFileSync(inData('postmaster.pid'), content);
  utimesSync(inData('postmaster.pid'), hourAgo, hourAgo);
}

it.each([
  { what: 'an empty lock file', content: () => '' },
  { what: 'the lock file of a server whose id another program has', content: () => `${process.pid}\n/data\n1\n1\n` },
])('the database of the demo starts again beside $what', async ({ content }) => {
  await startAndStop();
  leaveLockFile(content());
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
