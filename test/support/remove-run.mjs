// remove-run.mjs FOLDER: waits for the end of a test run, however that ends, ends the processes whose command line or
// environment names the folder of the run, and removes the folder: PostgreSQL, and Jest's workers, which would wait for
// it, with the services that they started. The run has the other end of the standard input, which the system closes
// with its process.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { findDatabaseFolder } from '../../dist/demo/postgres-programs.js';

/** PostgreSQL ends its sessions, also those that are stopped, within five seconds after SIGQUIT. */
const END_LIMIT_MS = 10_000;

const [, , folder] = process.argv;

function findProcesses(folders) {
  // The environment stands behind the command
  const { stdout } = spawnSync('ps', ['axeww', '-o', 'pid=,args='], { encoding: 'utf8', maxBuffer: 2 ** 26 });
  return stdout
    .split('\n')
    .filter((line) => folders.some((one) => line.includes(one)))
    .map((line) => ({ id: parseInt(line, 10), isPostgres: line.includes('postgres -D ') }))
    .filter(({ id }) => id !== process.pid);
}

function send(id, signal) {
  try {
    process.kill(id, signal);
  } catch {
    // it has ended by itself
  }
}

await once(process.stdin.resume(), 'end');
const copies = readdirSync(folder).map((name) => join(folder, name));
const folders = [folder, ...copies.map((copy) => findDatabaseFolder(copy))]; // root's databases stand elsewhere
for (const { id, isPostgres } of findProcesses(folders)) {
  send(id, isPostgres ? 'SIGQUIT' : 'SIGTERM');
  send(id, 'SIGCONT');
}
const limitMs = performance.now() + END_LIMIT_MS;
while (findProcesses(folders).length > 0 && performance.now() < limitMs) await pause(100);
for (const { id } of findProcesses(folders)) send(id, 'SIGKILL');
for (const path of folders) rmSync(path, { recursive: true, force: true, maxRetries: 10 });
