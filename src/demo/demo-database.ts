// The database of the demo: a server of PostgreSQL with its data, the migrations, samples and a key. Data and password
// stay from one start to the next.
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, DatabaseError } from 'pg';
import { hashApiKey } from '../auth/api-keys/api-key.js';
import { StartError } from '../configuration/start-error.js';
import { findFreePort } from './ports.js';
import { findRemedy } from './postgres-failures.js';
import { findPrograms, isRoot } from './postgres-programs.js';
import { PostgresServer } from './postgres-server.js';

/** The application name of the demo's sessions. The process id of the demo follows it. */
const APPLICATION = 'order-lookup-demo';

/** The interface document names no communication codes, so the demo loads samples that say so. */
const SAMPLES = `
  insert into communication_code (code_type, code, description) values
    ('SAMPLE-APPOINTMENT', 'CONFIRMED', 'Sample: the consumer confirmed the appointment'),
    ('SAMPLE-APPOINTMENT', 'LEFT-MESSAGE', 'Sample: a message was left, the appointment is open'),
    ('SAMPLE-APPOINTMENT', 'NO-ANSWER', 'Sample: nobody answered the call'),
    ('SAMPLE-DELIVERY', 'CONFIRMED', 'Sample: the delivery window was confirmed'),
    ('SAMPLE-DELIVERY', 'RESCHEDULED', 'Sample: the delivery was moved to another day'),
    ('SAMPLE-USAGE', 'EMAIL', 'Sample: the code is used in messages by email')
    on conflict do nothing`;

const USUAL_PORT = 3003;
/** The id of the advisory lock that a running demo has. */
const LOCK_ID = 20_265;
/** The session of a demo that was killed a moment ago may still have the lock. */
const LOCK_LIMIT_MS = 1_000;
/** The SQLSTATEs of a lock that was not free in time, and of a server that is starting or ending. */
const LOCK_NOT_AVAILABLE = '55P03';
const CANNOT_CONNECT_NOW = '57P03';
/** The codes of a machine without a loopback network, as in a new network namespace. */
const UNREACHABLE = new Set<string | undefined>(['ENETUNREACH', 'EADDRNOTAVAIL']);
/** Another program may have the port of a killed server by now, and say nothing. */
const ANSWER_MS = 5_000;
/** A server that was killed repairs its data before it accepts sessions. */
const START_LIMIT_MS = 60_000;
/** A server that has written its lock file listens in a fraction of this time. */
const STALE_LOCK_FILE_MS = 10_000;
const ATTEMPTS = 3;

export class DemoDatabase {
  private readonly password: string;
  private port = 0;
  /** Has the lock until this process ends, however it ends. It is undefined if another demo has the lock. */
  private session: Client;

  private constructor(private readonly server: PostgresServer) {
    const file = join(server.folder, 'postgres-password');
    // A full disk leaves an empty file
    if (!existsSync(file) || readFileSync(file).length === 0)
      writeFileSync(file, randomBytes(16).toString('hex'), { mode: 0o600 });
    this.password = readFileSync(file, 'utf8');
  }

  /** @throws StartError if there are no programs that run here, or no folder for the data */
  static async create(folder: string): Promise<DemoDatabase> {
    try {
      return new DemoDatabase(new PostgresServer(await findPrograms(), folder));
    } catch (error) {
      const { message } = error as Error;
      const remedies = [findRemedy(message) ?? '', isRoot ? 'Another user than root needs less.' : ''];
      const sentence = message.replace(/\.?$/, '.');
      throw new StartError(`The database of the demo does not start. ${[sentence, ...remedies].join(' ').trim()}`);
    }
  }

  get url(): string {
    return `postgres://postgres:${this.password}@127.0.0.1:${this.port}/postgres?sslmode=disable`;
  }

  /** The folder to delete for a fresh start. */
  get data(): string {
    return this.server.data;
  }

  /**
   * Starts the server, or goes on with the one that a killed demo left running.
   * @throws StartError with what PostgreSQL says, or if the demo of this clone runs already
   */
  async start(): Promise<void> {
    const session = (await this.connect()) ?? (await this.startServer());
    try {
      await session.query(`set lock_timeout = ${LOCK_LIMIT_MS}; select pg_advisory_lock(${LOCK_ID})`);
    } catch (error) {
      throw await describeRunningDemo(session, error);
    }
    this.session = session;
  }

  /** Stops the server, unless another demo uses it. */
  async stop(): Promise<void> {
    if (!this.session) return;
    await this.session.end();
    await this.server.stop();
  }

  /** Applies the migrations, loads the samples at the first start, and puts the key in force. */
  async prepare(key: string): Promise<void> {
    const { applyPending } = await import('../administration/migrate/run-migrations.js'); // after PostgreSQL has started
    try {
      await applyPending({ DATABASE_URL: this.url });
    } catch (error) {
      throw new StartError(
        `${(error as Error).message}\nThe data of the demo may be that of another branch: go back to it, or delete ` +
          `${this.data} to start afresh.`,
      );
    }
    // A migration of somebody's own may have made codes already, so the key of the demo tells the first start
    const { rowCount } = await this.session.query("select from api_key where client = 'demo' limit 1");
    if (rowCount === 0) await this.session.query(SAMPLES); // no migration made them, so they are drift
    await this.session.query(
      `insert into api_key as present (client, key_hash) values ('demo', decode($1, 'hex'))
       on conflict (key_hash) do update set revoked_at = null, expires_at = null
       where present.revoked_at is not null or present.expires_at is not null`,
      [hashApiKey(key)],
    );
  }

  /** Returns a session at our server, or undefined if it does not run: only our server accepts our password. */
  private async connect(sinceMs = performance.now()): Promise<Client | undefined> {
    const { lockFile } = this.server;
    if (!lockFile?.port) return undefined;
    this.port = lockFile.port;
    const client = new Client({
      connectionString: this.url,
      application_name: `${APPLICATION} ${process.pid}`,
      connectionTimeoutMillis: ANSWER_MS,
    });
    client.on('error', () => undefined); // the service says that its database is away
    try {
      await client.connect();
      return client;
    } catch (error) {
      void client.end().catch(() => undefined); // a program that says nothing would not let it end
      if (UNREACHABLE.has((error as NodeJS.ErrnoException).code)) throw this.describeFailure(error as Error);
      if (!(error instanceof DatabaseError) || error.code !== CANNOT_CONNECT_NOW) return undefined;
      if (performance.now() > sinceMs + START_LIMIT_MS) throw this.describeFailure(error);
      await pause(100);
      return this.connect(sinceMs);
    }
  }

  private async startServer(): Promise<Client> {
    const { server, password } = this;
    for (let attempt = 1; ; attempt += 1) {
      try {
        if (!server.isInitialised) await server.initialise(password);
        await server.start(await findFreePort(USUAL_PORT));
      } catch (error) {
        if (attempt === ATTEMPTS) throw this.describeFailure(error as Error);
      }
      const session = await this.connectToServer();
      if (session) return session;
    }
  }

  /** @throws StartError after it has stopped the server, if no session can be opened */
  private async connectToServer(): Promise<Client | undefined> {
    try {
      return await this.connectUnlessStale();
    } catch (error) {
      await this.server.stop();
      throw error;
    }
  }

  /**
   * Waits for the server of another start, which may have been faster. If nobody answers, a killed server has left its
   * lock file, and another program has the process id in it by now.
   */
  private async connectUnlessStale(): Promise<Client | undefined> {
    for (;;) {
      const session = await this.connect();
      const { lockFile } = this.server;
      if (session || !lockFile) return session;
      if (Date.now() > lockFile.writtenAtMs + STALE_LOCK_FILE_MS) {
        this.server.removeLockFile();
        return undefined;
      }
      await pause(200);
    }
  }

  private describeFailure({ message }: Error): StartError {
    const remedy = findRemedy(message) ?? this.describeTraces();
    return new StartError(`The database of the demo does not start: ${message}. ${remedy}`.trim());
  }

  /** Says where to look if no remedy is known. */
  private describeTraces(): string {
    const { log, data, isInitialised } = this.server;
    const sentences: string[] = [];
    if (existsSync(log)) sentences.push(`Its log is ${log}.`);
    if (isInitialised) sentences.push(`If its data is damaged or of another version, delete ${data} to start afresh.`);
    return sentences.join(' ');
  }
}

/** Names the process of the demo that has the lock. A demo that Ctrl-Z has stopped ends when it is continued. */
async function describeRunningDemo(session: Client, cause: unknown): Promise<unknown> {
  if (!(cause instanceof DatabaseError) || cause.code !== LOCK_NOT_AVAILABLE) return cause;
  const { rows } = await session.query<{ name: string }>(
    `select application_name as name from pg_stat_activity where application_name like '${APPLICATION} %'
     and pid in (select pid from pg_locks where locktype = 'advisory' and objid = ${LOCK_ID} and granted)`,
  );
  await session.end();
  const processId = rows[0]?.name.slice(APPLICATION.length + 1) ?? 'PID';
  return new StartError(
    `The demo runs already, as process ${processId}. Use it, or stop it with Ctrl-C in its terminal, ` +
      `or with: kill ${processId}; kill -CONT ${processId}`,
  );
}
