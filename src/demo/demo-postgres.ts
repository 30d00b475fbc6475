import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, DatabaseError } from 'pg';
import { StartError } from '../configuration/start-error.js';
import { PROJECT, databaseFolderOf, foldersToDelete } from './demo-folder.js';
import { runsAlready } from './demo-lock.js';
import { readKept, writeKept } from './kept-files.js';
import { PostgresServer } from './postgres/postgres-server.js';
import { findPrograms } from './postgres/server-programs.js';

/** SQLSTATE of a server that is starting or ending. */
const CANNOT_CONNECT_NOW = '57P03';
/** Another program may have the port of a killed server by now, and say nothing. */
const ANSWER_MS = 5_000;

/** The database of the demo. Its data and its password stay from one start to the next. */
export class DemoPostgres {
  private readonly password: string;

  private constructor(private readonly server: PostgresServer) {
    const file = join(server.folder, 'postgres-password');
    if (!server.isInitialised) writeKept(file, randomBytes(16).toString('hex'));
    this.password = readKept(file) ?? '';
  }

  /** @throws StartError if there are no programs that run here, or no folder for the data */
  static async create(): Promise<DemoPostgres> {
    try {
      const programs = await findPrograms();
      return new DemoPostgres(new PostgresServer(programs, databaseFolderOf(PROJECT)));
    } catch (error) {
      const remedy = process.geteuid?.() === 0 ? ' Another user than root needs less.' : '';
      throw new StartError(`The database of the demo does not start. ${(error as Error).message}${remedy}`);
    }
  }

  urlAt(port: number): string {
    return `postgres://postgres:${this.password}@127.0.0.1:${port}/postgres?sslmode=disable`;
  }

  /**
   * @param beforeStart is called when the port is about to be used
   * @throws StartError with what PostgreSQL says
   */
  async start(port: number, beforeStart: () => Promise<void>): Promise<void> {
    const { server, password } = this;
    try {
      if (!server.isInitialised) await server.initialise(password);
      await beforeStart();
      await server.start(port);
    } catch (error) {
      throw new StartError(
        `The database of the demo does not start: ${(error as Error).message}. Its log is ` +
          `${server.log}. If its data is damaged or of another version, delete ${foldersToDelete()} to start afresh.`,
      );
    }
  }

  /**
   * Ends the server that a killed demo left running, and takes away what a killed server left behind.
   * @throws StartError if another demo uses the same data
   */
  async endOrphan(): Promise<void> {
    const { lockFile } = this.server;
    if (!lockFile) return;
    const answer = await this.sessionsOfService(lockFile.port);
    // Port and process id may be those of another program by now; only our server accepts our password
    if (answer === 'not ours') this.server.removeLockFile();
    else if (answer === 0) await this.server.stop();
    else throw new StartError(runsAlready());
  }

  stop(): Promise<void> {
    return this.server.stop();
  }

  stopAtOnce(): void {
    this.server.stopAtOnce();
  }

  /** How many sessions of a service there are; `not ours` if no server of ours is there. */
  private async sessionsOfService(port: number): Promise<number | 'not ours'> {
    const limits = { connectionTimeoutMillis: ANSWER_MS, query_timeout: ANSWER_MS };
    const client = new Client({ connectionString: this.urlAt(port), ...limits });
    client.on('error', () => undefined); // the server may end at any time
    try {
      await client.connect();
      const { rows } = await client.query<{ count: number }>(
        `select count(*)::int as count from pg_stat_activity where application_name = 'order-lookup-services'`,
      );
      return rows[0]?.count ?? 0;
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.code !== CANNOT_CONNECT_NOW) return 'not ours';
      await pause(100);
      return this.sessionsOfService(port);
    } finally {
      void client.end().catch(() => undefined); // a program that says nothing would not let it end
    }
  }
}
