// The database of the demo: a PostgreSQL server with the migrations, sample codes and one API key. Its data is kept for
// the next start.
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, DatabaseError } from 'pg';
import { hashApiKey } from '../auth/api-keys/api-key.js';
import { StartError } from '../configuration/start-error.js';
import { choosePort } from './ports.js';
import { findStartRemedy } from './postgres-failures.js';
import { findPrograms, isRoot } from './postgres-programs.js';
import { PostgresServer } from './postgres-server.js';

/** The application name of the demo's session is this text and the process id of the demo. */
const APPLICATION = 'order-lookup-demo';

/** The interface document names no communication codes, so the migrations add none. The demo loads samples. */
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
/** The id of the advisory lock that a running demo keeps. */
const LOCK_ID = 20_265;
/** The longest wait for the lock. If a demo was killed a moment ago, its session may still have the lock. */
const LOCK_LIMIT_MS = 1_000;
const LOCK_NOT_AVAILABLE = '55P03';
/** The SQLSTATE of a server that is starting or stopping. */
const CANNOT_CONNECT_NOW = '57P03';
/** The error codes on a machine without a loopback network, such as a new network namespace. */
const NO_LOOPBACK = new Set<string | undefined>(['ENETUNREACH', 'EADDRNOTAVAIL']);
/** The limit of an attempt to connect. Another program, which never answers, may have the port of a killed server. */
const CONNECT_LIMIT_MS = 5_000;
/** The limit of a start. After a kill, the server repairs its data before it accepts sessions. */
const START_LIMIT_MS = 60_000;
/** If no server answers, `postmaster.pid` is stale at this age. A younger file may belong to a server that starts. */
const STALE_LOCK_FILE_MS = 10_000;
const START_ATTEMPTS = 3;

export class DemoDatabase {
  private readonly password: string;
  private port = 0;
  /** The session that has the lock. It ends with this process, even after a kill. Undefined until `start` has ended. */
  private session: Client | undefined;

  constructor(private readonly server: PostgresServer) {
    const file = join(server.folder, 'postgres-password');
    // If the disk was full at an earlier start, the file is empty
    if (!existsSync(file) || readFileSync(file).length === 0)
      writeFileSync(file, randomBytes(16).toString('hex'), { mode: 0o600 });
    this.password = readFileSync(file, 'utf8');
  }

  /** @throws StartError if PostgreSQL's programs do not run here, or the folder of the data cannot be made */
  static async create(folder: string): Promise<DemoDatabase> {
    try {
      return new DemoDatabase(new PostgresServer(await findPrograms(), folder));
    } catch (error) {
      const { message } = error as Error;
      const remedies = [findStartRemedy(message) ?? '', isRoot ? 'Or run the demo as another user than root.' : ''];
      const sentence = message.endsWith('.') ? message : `${message}.`;
      throw new StartError(`The database of the demo does not start. ${[sentence, ...remedies].join(' ').trim()}`);
    }
  }

  get url(): string {
    return `postgres://postgres:${this.password}@127.0.0.1:${this.port}/postgres?sslmode=disable`;
  }

  /** The folder that people delete to start afresh. */
  get data(): string {
    return this.server.data;
  }

  /**
   * Starts the server, or uses the server that a killed demo left running.
   * @throws StartError with PostgreSQL's message, or if the demo of this clone runs already
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

  /** Call it after `start`. Applies the migrations, loads the samples at the first start, and makes the key usable. */
  async prepare(key: string): Promise<void> {
    const session = this.session as Client;
    // Loaded only now, so that loading does not delay the start of PostgreSQL
    const { applyPending } = await import('../administration/migrate/run-migrations.js');
    try {
      await applyPending({ DATABASE_URL: this.url });
    } catch (error) {
      throw new StartError(
        `${(error as Error).message}\nThe data of the demo may be that of another branch: go back to it, or delete ` +
          `${this.data} to start afresh.`,
      );
    }
    // Without the key of the demo, this is the first start. Codes do not show a first start: migrations may add some
    const { rowCount } = await session.query("select from api_key where client = 'demo' limit 1");
    if (rowCount === 0) await session.query(SAMPLES);
    await session.query(
      `insert into api_key as present (client, key_hash) values ('demo', decode($1, 'hex'))
       on conflict (key_hash) do update set revoked_at = null, expires_at = null
       where present.revoked_at is not null or present.expires_at is not null`,
      [hashApiKey(key)],
    );
  }

  /** Returns a session, or undefined if our server does not answer. Another server at its port refuses our password. */
  private async connect(sinceMs = performance.now()): Promise<Client | undefined> {
    const { lockFile } = this.server;
    if (!lockFile?.port) return undefined;
    this.port = lockFile.port;
    const client = new Client({
      connectionString: this.url,
      application_name: `${APPLICATION} ${process.pid}`,
      connectionTimeoutMillis: CONNECT_LIMIT_MS,
    });
    client.on('error', () => undefined); // the service logs the loss of the database
    try {
      await client.connect();
      return client;
    } catch (error) {
      void client.end().catch(() => undefined); // not awaited: if another program has the port, `end` may never resolve
      if (NO_LOOPBACK.has((error as NodeJS.ErrnoException).code)) throw this.describeFailure(error as Error);
      if (!(error instanceof DatabaseError) || error.code !== CANNOT_CONNECT_NOW) return undefined;
      if (performance.now() > sinceMs + START_LIMIT_MS) throw this.describeFailure(error);
      await pause(100);
      return this.connect(sinceMs);
    }
  }

  /** Tries several times, and connects after a failed start, too: another demo may have started the server. */
  private async startServer(attemptsLeft = START_ATTEMPTS): Promise<Client> {
    const failure = await this.tryToStart();
    const session = await this.connectToServer();
    if (session) return session;
    if (!failure) {
      await this.server.stop();
      throw this.describeFailure(new Error('its server accepts no session'));
    }
    if (attemptsLeft === 1) throw this.describeFailure(failure);
    return this.startServer(attemptsLeft - 1);
  }

  private async tryToStart(): Promise<Error | undefined> {
    const { server, password } = this;
    try {
      if (!server.isInitialised) await server.initialise(password);
      await server.start(await choosePort(USUAL_PORT));
      return undefined;
    } catch (error) {
      return error as Error;
    }
  }

  /** Waits for a session. If the wait fails with a StartError, stops the server, and throws the error again. */
  private async connectToServer(): Promise<Client | undefined> {
    try {
      return await this.waitForSession();
    } catch (error) {
      await this.server.stop();
      throw error;
    }
  }

  /**
   * Waits for a session. If no server runs, removes the lock file of a killed server, and returns undefined. With this
   * file, PostgreSQL would not start if another program now has the process id that is in it.
   */
  private async waitForSession(): Promise<Client | undefined> {
    for (;;) {
      const session = await this.connect();
      const { lockFile } = this.server;
      if (session || !lockFile) return session;
      const isStale = Date.now() > lockFile.writtenAtMs + STALE_LOCK_FILE_MS; // and no server has answered
      if (isStale) {
        this.server.removeStaleLockFile();
        return undefined;
      }
      await pause(200);
    }
  }

  private describeFailure({ message }: Error): StartError {
    const remedy = findStartRemedy(message) ?? this.describeWhereToLook();
    return new StartError(`The database of the demo does not start: ${message}. ${remedy}`.trim());
  }

  private describeWhereToLook(): string {
    const { log, data, isInitialised } = this.server;
    const sentences: string[] = [];
    if (existsSync(log)) sentences.push(`Its log is ${log}.`);
    if (isInitialised) sentences.push(`If its data is damaged or of another version, delete ${data} to start afresh.`);
    return sentences.join(' ');
  }
}

/** Returns an error that names the process with the lock. After Ctrl-Z, this process ends only after `kill -CONT`. */
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
