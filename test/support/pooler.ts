import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { PASSWORD, queryAt } from './database.js';
import { freePort } from './postgres-server.js';
import { until } from './service.js';

/** Whether Debian's pgbouncer is installed on this machine. */
export const hasPooler = spawnSync('pgbouncer', ['--version']).status === 0;

/** PgBouncer that gives its clients one session of the server, for one transaction at a time. */
export class Pooler {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
    private readonly folder: string,
  ) {}

  /** @param url of the database; all clients become its user */
  static async before(url: string): Promise<Pooler> {
    const { hostname, port, pathname, username } = new URL(url);
    const folder = await mkdtemp(join(tmpdir(), 'order-lookup-pooler-'));
    const file = join(folder, 'pgbouncer.ini');
    const listenPort = await freePort();
    await writeFile(
      file,
      `[databases]
${pathname.slice(1)} = host=${hostname} port=${port} user=${username} password=${PASSWORD}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listenPort}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 1
`,
    );
    await chmod(folder, 0o755);
    const asUser = userInfo().uid === 0 ? ['-u', 'nobody'] : []; // it refuses to run as root
    const child = spawn('pgbouncer', ['-q', ...asUser, file], { stdio: 'ignore' });
    const pooler = new Pooler(
      Object.assign(new URL(url), { port: String(listenPort) }).href,
      child,
      folder,
    );
    await until(async () => (await pooler.query('select')).length === 1);
    return pooler;
  }

  /** Runs a query as one more client. */
  query = (sql: string): Promise<Record<string, unknown>[]> => queryAt(this.url, sql);

  async stop(): Promise<void> {
    const exited = once(this.child, 'exit');
    this.child.kill('SIGINT');
    await exited;
    await rm(this.folder, { recursive: true });
  }
}
