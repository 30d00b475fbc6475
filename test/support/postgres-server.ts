import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { PostgresServer as Server } from '../../src/demo/postgres-server.ts';
import { findPrograms } from '../../src/demo/postgres-programs.ts';
import { PASSWORD, queryAt } from './database.ts';
import { findFreePort, isFree } from './ports.ts';
import { limitWait } from './waiting.ts';

/** A real PostgreSQL server with a folder of its own. */
export interface PostgresServer {
  readonly url: string;
  /** The folder with the data. */
  readonly data: string;
  /** Stops the server by `pg_ctl stop`, which ends its sessions immediately. */
  readonly stop: () => Promise<void>;
  readonly start: () => Promise<void>;
  /** Kills all processes of the server with SIGKILL. The next start has to repair the data. */
  readonly kill: () => Promise<void>;
  /** Sends SIGSTOP to all processes of the server: connections stay open, but nobody answers. */
  readonly pause: () => Promise<void>;
  readonly resume: () => void;
  /** Stops the server, and removes its folder. */
  readonly remove: () => Promise<void>;
}

/** @param fillData makes the data with which the server starts. By default the server has only its own databases */
export async function startPostgres(fillData?: (data: string) => Promise<void>): Promise<PostgresServer> {
  // With `npm run test:postgres` this variable names the package of another version
  const programs = await findPrograms(process.env['TEST_POSTGRES']);
  const folder = await mkdtemp(join(tmpdir(), 'order-lookup-'));
  const server = new Server(programs, folder);
  const port = await findFreePort();
  // 300 sessions are enough for all workers of Jest. Without fsync writes are faster, but would not survive a power cut
  const start = () => server.start(port, { fsync: 'off', max_connections: 300 });
  const url = `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`;
  if (fillData) await fillData(server.data);
  else await server.initialise(PASSWORD);
  await start();
  let paused: number[] = [];
  const resume = (): void => {
    for (const pid of paused.splice(0)) signal(pid, 'SIGCONT');
  };
  return {
    url,
    data: server.data,
    stop: () => server.stop(),
    start,
    kill: async () => {
      const postmaster = server.lockFile?.processId;
      if (postmaster === undefined) return;
      // The postmaster is killed first, because it would replace the processes that end
      for (const pid of [postmaster, ...(await listSessions(url))]) signal(pid, 'SIGKILL');
      await limitWait(`the port ${port}, which a killed PostgreSQL used`, async () => {
        while (!(await isFree(port))) await pause(10);
      });
      server.removeStaleLockFile();
    },
    pause: async () => {
      const postmaster = server.lockFile?.processId;
      if (postmaster === undefined) throw new Error('PostgreSQL does not run, so nothing can be paused');
      paused = [postmaster, ...(await listSessions(url))];
      for (const pid of paused) signal(pid, 'SIGSTOP');
    },
    resume,
    remove: async () => {
      resume();
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Returns the ids of the processes of sessions, and of the server's own workers. */
async function listSessions(url: string): Promise<number[]> {
  const others = 'select pid from pg_stat_activity where pid <> pg_backend_pid()';
  return (await queryAt(url, others)).map(({ pid }) => Number(pid));
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // the session has ended meanwhile
  }
}
