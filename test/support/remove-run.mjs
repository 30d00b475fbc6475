// remove-run.mjs FOLDER: waits for the end of a test run, however that ends, ends the processes whose command line names
// the folder of the run, PostgreSQL above all, and removes the folder. The run has the other end of the standard input,
// which the system closes with its process.
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
  const { stdout } = spawnSync('ps', ['-eww', '-o', 'pid=,args='], { encoding: 'utf8', maxBuffer: 2 ** 26 });
  return stdout
    .split('\n')
    .filter((line) => folders.some((one) => line.includes(one)))
    .map((line) => parseInt(line, 10))
    .filter((id) => id !== process.pid);
}

function send(ids, signal) {
  for (const id of ids) {
    try {
      process.kill(id, signal);
    } catch {
      // it has ended by itself
    }
  }
}

await once(process.stdin.resume(), 'end');
const copies = readdirSync(folder).map((name) => join(folder, name));
const folders = [folder, ...copies.map((copy) => findDatabaseFolder(copy))]; // root's databases stand elsewhere
const first = findProcesses(folders);
send(first, 'SIGQUIT');
send(first, 'SIGCONT');
const limitMs = performance.now() + END_LIMIT_MS;
while (findProcesses(folders).length > 0 && performance.now() < limitMs) await pause(100);
send(findProcesses(folders), 'SIGKILL');
for (const path of folders) rmSync(path, { recursive: true, force: true, maxRetries: 10 });
