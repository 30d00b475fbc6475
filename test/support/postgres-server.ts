import { execFile } from 'node:child_process';
import { appendFile, chown, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { PostgresServer as Server } from '../../src/demo/postgres-server.ts';
import { findPrograms } from '../../src/demo/postgres-programs.ts';
import { PASSWORD, queryAt, withSession } from './database.ts';
import { freePort, isFree } from './ports.ts';

/** A real PostgreSQL server of its own, in a folder that goes with it. */
export interface PostgresServer {
  readonly url: string;
  /** Orderly, with its sessions ended at once. */
  readonly stop: () => Promise<void>;
  readonly start: () => Promise<void>;
  /** Ends all its processes without a word, as a power failure does. */
  readonly kill: () => Promise<void>;
  /** SIGSTOP to all its processes: connections stay open and say nothing. */
  readonly pause: () => Promise<void>;
  readonly resume: () => void;
  /** A hot standby of it, which follows it until `select pg_promote()`. */
  readonly standby: () => Promise<PostgresServer>;
  /** Ends it for good. */
  readonly remove: () => Promise<void>;
}

/** @param primary the address and the data of the server that this one follows */
export async function startPostgres(primary?: Record<'url' | 'data', string>): Promise<PostgresServer> {
  // `npm run test:postgres` names the package of another version
  const programs = await findPrograms(process.env['TEST_POSTGRES']);
  const folder = await mkdtemp(join(tmpdir(), 'order-lookup-'));
  const server = new Server(programs, folder);
  const port = await freePort();
  const start = () => server.start(port, { fsync: 'off', max_connections: 300 });
  const url = `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`;
  if (primary) await copy(primary, server.data);
  else await server.initialise(PASSWORD);
  await start();
  let paused: number[] = [];
  const resume = (): void => {
    for (const pid of paused.splice(0)) signal(pid, 'SIGCONT');
  };
  return {
    url,
    stop: () => server.stop(),
    start,
    kill: async () => {
      const postmaster = server.lockFile?.processId;
      if (postmaster === undefined) return;
      for (const pid of [postmaster, ...(await processes(url))]) signal(pid, 'SIGKILL');
      while (!(await isFree(port))) await pause(10);
      server.removeLockFile();
    },
    pause: async () => {
      paused = [server.lockFile?.processId ?? 0, ...(await processes(url))];
      for (const pid of paused) signal(pid, 'SIGSTOP');
    },
    resume,
    standby: () => startPostgres({ url, data: server.data }),
    remove: async () => {
      resume();
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Copies the data of a running server for a standby. */
async function copy(primary: { url: string; data: string }, data: string): Promise<void> {
  const { rows } = await withSession(primary.url, async (client) => {
    await client.query(`select pg_backup_start('standby', true)`);
    await promisify(execFile)('cp', ['-a', primary.data, data]);
    return client.query<{ label: string }>('select labelfile as label from pg_backup_stop(false)');
  });
  await rm(join(data, 'postmaster.pid'));
  await appendFile(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${primary.url}'\n`);
  const { uid, gid } = await stat(data);
  const written = { backup_label: rows[0]?.label ?? '', 'standby.signal': '' };
  for (const [name, text] of Object.entries(written)) {
    await writeFile(join(data, name), text);
    await chown(join(data, name), uid, gid);
  }
}

/** The processes of the server's sessions and its own workers. */
async function processes(url: string): Promise<number[]> {
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
