// The folder of a test run. It contains all data of PostgreSQL and all other folders of the tests.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, statSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isRoot } from '../../src/demo/postgres-programs.ts';

/** The name of a run's folder. It contains the process id of the run. */
const NAME = /^order-lookup-run-(?<processId>\d+)-/;
const REMOVE_RUN = join('test', 'support', 'remove-run.mjs');

/** The folder of one run of Jest. Another process removes it when the run has ended, also if the run was killed. */
export class TestRun {
  private constructor(
    readonly folder: string,
    private readonly remover: ChildProcess,
  ) {}

  static start(): TestRun {
    // Root's server runs as another user, who may have no access to TMPDIR
    const parent = isRoot ? '/tmp' : tmpdir();
    removeKilledRuns(parent);
    const folder = mkdtempSync(join(parent, `order-lookup-run-${process.pid}-`));
    if (isRoot) chmodSync(folder, 0o755);
    // `detached` keeps Ctrl-C from the remover. When this process ends, also by a kill, the system closes the remover's
    // standard input. Then the remover removes the folder
    const remover = spawn(process.execPath, [REMOVE_RUN, folder], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    remover.unref();
    (remover.stdin as Socket).unref();
    return new TestRun(folder, remover);
  }

  async end(): Promise<void> {
    this.remover.ref();
    const ended = once(this.remover, 'exit');
    this.remover.stdin?.end();
    await ended;
  }
}

/**
 * Removes the folders of runs that were killed together with their remover. Two containers must not share /tmp: neither
 * sees the processes of the other, so each would remove the folders of the other's running tests.
 */
function removeKilledRuns(parent: string): void {
  for (const name of readdirSync(parent)) {
    const processId = Number(NAME.exec(name)?.groups?.['processId']);
    const folder = join(parent, name);
    if (!processId || isRunning(processId)) continue;
    const isOurs = statSync(folder, { throwIfNoEntry: false })?.uid === process.geteuid?.(); // false if it is gone
    if (isOurs) spawnSync(process.execPath, [REMOVE_RUN, folder], { stdio: 'ignore' });
  }
}

function isRunning(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
