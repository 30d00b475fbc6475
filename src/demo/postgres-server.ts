import { spawn } from 'node:child_process';
import {
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
// These imports end in .ts: Jest's global setup imports this file, and cannot find a .ts file by a name with .js
import { findFailure } from './postgres-failures.ts';
import { type PostgresPrograms, makeSpawnOptions } from './postgres-programs.ts';

/** The longest wait of pg_ctl for a start or a stop. After a kill, the server repairs its data first. */
const PG_CTL_LIMIT_SECONDS = '300';

interface LockFile {
  readonly processId: number;
  readonly port: number;
  readonly writtenAtMs: number;
}

/** A PostgreSQL server on 127.0.0.1. If this process ends without `stop`, the server goes on running. */
export class PostgresServer {
  readonly data: string;
  readonly log: string;
  /** The process id of the server, if this process started it. */
  private startedProcess: number | undefined;

  /** @param folder the folder for data and logs. If it is missing, it is created for the user of the server only */
  constructor(
    private readonly programs: PostgresPrograms,
    readonly folder: string,
  ) {
    this.data = join(folder, 'postgres');
    this.log = join(folder, 'postgres.log');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.giveToServer(folder);
  }

  get isInitialised(): boolean {
    return existsSync(join(this.data, 'PG_VERSION'));
  }

  /** The content of the lock file, which exists if a server runs or was killed. In a damaged file the numbers are 0. */
  get lockFile(): LockFile | undefined {
    const path = join(this.data, 'postmaster.pid');
    const file = statSync(path, { throwIfNoEntry: false });
    if (!file) return undefined;
    const [processId, , , port] = readFileSync(path, 'utf8').split('\n'); // the first and the fourth line
    return { processId: Number(processId) || 0, port: Number(port) || 0, writtenAtMs: file.mtimeMs };
  }

  /** Call it only if you know that the server does not run. A server without its lock file ends within a minute. */
  removeStaleLockFile(): void {
    rmSync(join(this.data, 'postmaster.pid'), { force: true });
  }

  /**
   * Makes the data folder, with a superuser `postgres`. The folder is renamed at the end, so that an interrupted start
   * leaves no data that looks complete.
   */
  async initialise(password: string): Promise<void> {
    const unfinished = join(this.folder, 'postgres.unfinished');
    const passwordFile = join(this.folder, 'initdb-password');
    rmSync(unfinished, { recursive: true, force: true });
    writeFileSync(passwordFile, password, { mode: 0o600 });
    this.giveToServer(passwordFile);
    try {
      await this.run(this.programs.initdb, [
        `--pgdata=${unfinished}`,
        '--username=postgres',
        `--pwfile=${passwordFile}`,
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        '--locale=C', // sorts texts in the same way on every machine
        '--no-sync', // faster; only a crash of the machine soon afterwards would damage the data
      ]);
    } finally {
      rmSync(passwordFile);
    }
    if (this.isInitialised) return; // another start made the data meanwhile
    rmSync(this.data, { recursive: true, force: true }); // a folder without PG_VERSION contains no database
    renameSync(unfinished, this.data);
  }

  /**
   * Starts the server, and resolves when it accepts sessions.
   * @param settings further settings of postgresql.conf
   */
  async start(port: number, settings: Readonly<Record<string, string | number>> = {}): Promise<void> {
    const all = { ...settings, port, listen_addresses: '127.0.0.1', unix_socket_directories: '' };
    const options = Object.entries(all).map(([name, value]) => `-c ${name}=${value}`);
    rmSync(this.log, { force: true }); // pg_ctl appends to an old log, and we would report a fault of an earlier start
    await this.control('start', ['-o', options.join(' '), '-l', this.log]);
    this.startedProcess = this.lockFile?.processId;
  }

  /** Stops the server, and ends its sessions. Without a lock file, stops only a server that this process started. */
  async stop(): Promise<void> {
    if (this.lockFile) await this.control('stop', ['-m', 'fast']);
    else if (this.startedProcess) endProcess(this.startedProcess); // somebody deleted the folder
    this.startedProcess = undefined; // later another process may have this id
  }

  private async control(action: 'start' | 'stop', words: readonly string[]): Promise<void> {
    const commonWords = ['-D', this.data, '-w', '-t', PG_CTL_LIMIT_SECONDS, '-s'];
    try {
      await this.run(this.programs.pgCtl, [action, ...commonWords, ...words]);
    } catch (error) {
      if (!existsSync(this.log)) throw error;
      throw new Error(findFailure(readFileSync(this.log, 'utf8')), { cause: error }); // the log says more than pg_ctl
    }
  }

  private run(program: string, words: readonly string[]): Promise<void> {
    return new Promise((resolve, reject) => {
      // Not a pipe: on some platforms the started server would keep it open, and we would wait until the server ends
      const output = openSync(join(this.folder, 'commands.log'), 'w', 0o600);
      const child = spawn(program, words, {
        ...this.spawnOptions,
        stdio: ['ignore', output, output],
      });
      closeSync(output);
      child.once('error', reject);
      child.once('exit', (status, signal) => {
        if (status === 0) resolve();
        else reject(new Error(this.describeEnd(program, status ?? signal)));
      });
    });
  }

  private describeEnd(program: string, status: number | string | null): string {
    const file = join(this.folder, 'commands.log');
    const printed = existsSync(file) ? readFileSync(file, 'utf8') : `${this.folder} was deleted`;
    return `${basename(program)} ended with ${status}: ${findFailure(printed)}`;
  }

  private get spawnOptions() {
    return makeSpawnOptions({ account: this.programs.account, folder: this.folder });
  }

  private giveToServer(path: string): void {
    const { account } = this.programs;
    if (account) chownSync(path, account.uid, account.gid);
  }
}

function endProcess(processId: number): void {
  try {
    process.kill(processId, 'SIGINT');
  } catch {
    // the process has ended already
  }
}
