import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { findPrograms } from '../../src/demo/postgres-programs.js';
import { PostgresServer } from '../../src/demo/postgres-server.js';
import { findFreePort, isFree } from './ports.js';
import { until } from './until.js';

/** A program that starts remove-run.mjs, as test-run.ts does. Its end closes the standard input of remove-run.mjs. */
const RUNNER = `
  const { spawn } = require('node:child_process');
  const words = ['test/support/remove-run.mjs', process.env.FOLDER];
  spawn(process.execPath, words, { detached: true, stdio: ['pipe', 'ignore', 'inherit'] });
  console.log('runs');`;

it('a test run that is killed leaves no PostgreSQL and no folder', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'killed-run-'));
  chmodSync(folder, 0o755); // if root runs the tests, PostgreSQL runs as another user
  const server = new PostgresServer(await findPrograms(), join(folder, 'database'));
  const port = await findFreePort();
  await server.initialise('tests-only');
  await server.start(port);

  const env = { ...process.env, FOLDER: folder };
  const runner = spawn(process.execPath, ['-e', RUNNER], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise((resolve) => void runner.stdout.once('data', resolve));
  expect(await isFree(port)).toBe(false);
  runner.kill('SIGKILL');
  await until(async () => !existsSync(folder));
  expect(await isFree(port)).toBe(true);
});
