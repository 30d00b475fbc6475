// Starts the PostgreSQL server of the demo, and opens a session. This session has a lock, so that only one demo of a
// clone runs. If the demo ends, also by a kill, PostgreSQL ends the session, and the lock is free again.
import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, DatabaseError } from 'pg';
import { StartError } from '../configuration/start-error.js';
import { choosePort } from './ports.js';
import { findStartRemedy } from './postgres-failures.js';
import type { PostgresServer } from './postgres-server.js';

/** The application name of the demo's session is this text and the process id of the demo. */
const APPLICATION = 'order-lookup-demo';

const USUAL_PORT = 3003;
const START_ATTEMPTS = 3;
/** The limit of an attempt to connect. Another program, which never answers, may have the port of a killed server. */
const CONNECT_LIMIT_MS = 5_000;
/** The longest wait for a starting server. After a kill, the server repairs its data before it accepts sessions. */
const REPAIR_LIMIT_MS = 60_000;
/** If no server answers, `postmaster.pid` is stale at this age. A younger file may belong to a server that starts. */
const STALE_LOCK_FILE_MS = 10_000;
/** The id of the advisory lock that a running demo keeps. */
const LOCK_ID = 20_265;
/** The longest wait for the lock. If a demo was killed a moment ago, its session may still have the lock. */
const LOCK_LIMIT_MS = 1_000;

const LOCK_NOT_AVAILABLE = '55P03';
/** The SQLSTATE of a server that is starting or stopping. */
const CANNOT_CONNECT_NOW = '57P03';
/** The error codes on a machine without a loopback network, such as a new network namespace. */
const NO_LOOPBACK = new Set<string | undefined>(['ENETUNREACH', 'EADDRNOTAVAIL']);

export class DatabaseStart {
  constructor(
    private readonly server: PostgresServer,
    private readonly password: string,
  ) {}

  /**
   * Connects to the server that a killed demo left running, or else starts the server. Takes the lock of the demo.
   * @throws StartError with PostgreSQL's message, or if the demo of this clone runs already
   */
  async openSession(): Promise<Client> {
    const session = (await this.connect()) ?? (await this.startServer());
    await takeLock(session);
    return session;
  }

  /** Starts the server, and connects. If the started server accepts no session, stops it again. */
  private async startServer(): Promise<Client> {
    let isStartedByUs = false;
    try {
      for (let attempt = 1; ; attempt += 1) {
        const failure = await this.tryToStart();
        isStartedByUs = failure === undefined;
        const session = await this.waitForSession(); // after a failure, too: another demo may have started the server
        if (session) return session;
        if (!failure) throw this.describeFailure(new Error('its server accepts no session'));
        if (attempt === START_ATTEMPTS) throw this.describeFailure(failure);
      }
    } catch (error) {
      // After a failed start, a running server is that of another demo. An error of `stop` would say less than `error`
      if (isStartedByUs) await this.server.stop().catch(() => undefined);
      throw error;
    }
  }

  /** Returns the error if the start fails. */
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

  /** Calls `connect` again while there is a young lock file: a new server does not answer immediately. */
  private async waitForSession(): Promise<Client | undefined> {
    for (;;) {
      const session = await this.connect();
      if (session) return session;
      const { lockFile } = this.server;
      if (!lockFile) return undefined;
      const isStale = Math.abs(Date.now() - lockFile.writtenAtMs) > STALE_LOCK_FILE_MS; // the clock may have been set back
      if (isStale) {
        // The file contains a process id. If another program has this id now, PostgreSQL would take it for the server
        this.server.removeStaleLockFile();
        return undefined;
      }
      await pause(200);
    }
  }

  /** Connects, and waits while the server says that it starts. Returns undefined if our server does not answer. */
  private async connect(): Promise<Client | undefined> {
    const beganAtMs = performance.now();
    for (;;) {
      const { lockFile } = this.server;
      if (!lockFile?.port) return undefined;
      const result = await this.tryToConnect(lockFile.port);
      if (result instanceof Client) return result;
      if (NO_LOOPBACK.has(result.code)) throw this.describeFailure(result);
      if (!isOfOurServer(result)) return undefined;
      const isStarting = result.code === CANNOT_CONNECT_NOW && performance.now() <= beganAtMs + REPAIR_LIMIT_MS;
      if (!isStarting) throw this.describeFailure(result); // for example, it has too many clients already
      await pause(100);
    }
  }

  /** Returns a session, or the error if the attempt fails. */
  private async tryToConnect(port: number): Promise<Client | NodeJS.ErrnoException> {
    const client = new Client({
      host: '127.0.0.1',
      port,
      user: 'postgres',
      password: this.password,
      database: 'postgres',
      ssl: false,
      application_name: `${APPLICATION} ${process.pid}`,
      connectionTimeoutMillis: CONNECT_LIMIT_MS,
    });
    client.on('error', () => undefined); // the service logs the loss of the database
    try {
      return await client.connect();
    } catch (error) {
      void client.end().catch(() => undefined); // not awaited: if another program has the port, `end` may never resolve
      return error as NodeJS.ErrnoException;
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

/** Returns false if nobody answered, or if a server refused our password (class 28): that server is not ours. */
function isOfOurServer(error: Error): boolean {
  return error instanceof DatabaseError && !error.code?.startsWith('28');
}

/** @throws StartError if another demo of this clone has the lock */
async function takeLock(session: Client): Promise<void> {
  try {
    await session.query(`set lock_timeout = ${LOCK_LIMIT_MS}; select pg_advisory_lock(${LOCK_ID})`);
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== LOCK_NOT_AVAILABLE) throw error;
    const processId = await findRunningDemo(session);
    await session.end();
    // After Ctrl-Z, the running demo ends only after `kill -CONT`
    throw new StartError(
      `The demo runs already, as process ${processId}. Use it, or stop it with Ctrl-C in its terminal, ` +
        `or with: kill ${processId}; kill -CONT ${processId}`,
    );
  }
}

/** Returns the id of the process that has the lock, or `PID` if the process has just ended. */
async function findRunningDemo(session: Client): Promise<string> {
  const { rows } = await session.query<{ name: string }>(
    `select application_name as name from pg_stat_activity where application_name like '${APPLICATION} %'
     and pid in (select pid from pg_locks where locktype = 'advisory' and objid = ${LOCK_ID} and granted)`,
  );
  return rows[0]?.name.slice(APPLICATION.length + 1) ?? 'PID';
}
