import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { PostgresServer as Server } from '../../src/demo/postgres-server.ts';
import { findPrograms } from '../../src/demo/postgres-programs.ts';
import { PASSWORD, queryAt } from './database.ts';
import { freePort, isFree } from './ports.ts';
import { sayIfLate } from './waiting.ts';

/** A real PostgreSQL server of its own, in a folder that goes with it. */
export interface PostgresServer {
  readonly url: string;
  /** The folder of its data. */
  readonly data: string;
  /** Orderly, with its sessions ended at once. */
  readonly stop: () => Promise<void>;
  readonly start: () => Promise<void>;
  /** Ends all its processes without a word, as a power failure does. */
  readonly kill: () => Promise<void>;
  /** SIGSTOP to all its processes: connections stay open and say nothing. */
  readonly pause: () => Promise<void>;
  readonly resume: () => void;
  /** Ends it for good. */
  readonly remove: () => Promise<void>;
}

/** @param fillData makes the data that the server starts with; an empty cluster, if it is left out */
export async function startPostgres(fillData?: (data: string) => Promise<void>): Promise<PostgresServer> {
  // `npm run test:postgres` names the package of another version
  const programs = await findPrograms(process.env['TEST_POSTGRES']);
  const folder = await mkdtemp(join(tmpdir(), 'order-lookup-'));
  const server = new Server(programs, folder);
  const port = await freePort();
  // Sessions for the services, pools and tests of all workers; what is written need not survive the machine
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
      // The postmaster first: it would start anew what ends
      for (const pid of [postmaster, ...(await listSessions(url))]) signal(pid, 'SIGKILL');
      await sayIfLate(`the port ${port}, which a killed PostgreSQL used`, async () => {
        while (!(await isFree(port))) await pause(10);
      });
      server.removeLockFile();
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

/** The processes of the server's sessions and its own workers. */
async function listSessions(url: string): Promise<number[]> {
  const others = 'select pid from pg_stat_activity where pid <> pg_backend_pid()';
  return (await queryAt(url, others)).map(({ pid }) => Number(pid));
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // a session that ended in the meantime
  }
}
