// remove-run.mjs FOLDER waits until its standard input is closed. This happens when the test run ends, even if it is
// killed. Then this program ends the processes of the run, and removes the folder of the run.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { findDatabaseFolder } from '../../dist/demo/postgres-programs.js';

/** The longest wait for the processes to end. SIGQUIT makes PostgreSQL end all sessions, also paused ones, in 5 s. */
const END_LIMIT_MS = 10_000;

const [, , folder] = process.argv;

/** Finds PostgreSQL, Jest's workers and their services by a folder's name in their command line or environment. */
function findProcesses(folders) {
  // ps prints the environment after the command
  const { stdout } = spawnSync('ps', ['axeww', '-o', 'pid=,args='], { encoding: 'utf8', maxBuffer: 2 ** 26 });
  return stdout
    .split('\n')
    .filter((line) => folders.some((path) => line.includes(path)))
    .map((line) => ({ id: parseInt(line, 10), isPostgres: line.includes('postgres -D ') }))
    .filter(({ id }) => id !== process.pid);
}

function send(id, signal) {
  try {
    process.kill(id, signal);
  } catch {
    // the process has ended by itself
  }
}

await once(process.stdin.resume(), 'end');
const copies = readdirSync(folder).map((name) => join(folder, name));
const folders = [folder, ...copies.map((copy) => findDatabaseFolder(copy))]; // root's databases are in other folders
for (const { id, isPostgres } of findProcesses(folders)) {
  send(id, isPostgres ? 'SIGQUIT' : 'SIGTERM');
  send(id, 'SIGCONT'); // a paused process handles SIGTERM only when it continues
}
const giveUpAtMs = performance.now() + END_LIMIT_MS;
while (findProcesses(folders).length > 0 && performance.now() < giveUpAtMs) await pause(100);
for (const { id } of findProcesses(folders)) send(id, 'SIGKILL');
for (const path of folders) rmSync(path, { recursive: true, force: true, maxRetries: 10 });
