// The database of the demo: a PostgreSQL server with the migrations, sample codes and one API key. Its data is kept for
// the next start.
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from 'pg';
import { hashApiKey } from '../auth/api-keys/api-key.js';
import { StartError } from '../configuration/start-error.js';
import { DatabaseStart } from './database-start.js';
import { findStartRemedy } from './postgres-failures.js';
import { findPrograms, isRoot } from './postgres-programs.js';
import { PostgresServer } from './postgres-server.js';

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

export class DemoDatabase {
  private readonly password: string;
  /** Undefined until `start` has ended. */
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
      const sentences = ['The database of the demo does not start.', message.endsWith('.') ? message : `${message}.`];
      const remedy = findStartRemedy(message);
      if (remedy !== undefined) sentences.push(remedy);
      if (isRoot) sentences.push('As root, you can also run the demo as another user.');
      throw new StartError(sentences.join(' '));
    }
  }

  /** Call it after `start`. */
  get url(): string {
    const { port } = this.session as Client;
    return `postgres://postgres:${this.password}@127.0.0.1:${port}/postgres?sslmode=disable`;
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
    this.session = await new DatabaseStart(this.server, this.password).openSession();
  }

  /** Stops the server. Does nothing if `start` has failed, for example because another demo uses the server. */
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
    // Without a key of the demo, this is the first start. Do not look for codes: other migrations may have added some
    const { rowCount } = await session.query("select from api_key where client = 'demo' limit 1");
    if (rowCount === 0) await session.query(SAMPLES);
    // Without the last line, each start would write the key, and every replica would read all keys again
    await session.query(
      `insert into api_key as present (client, key_hash) values ('demo', decode($1, 'hex'))
       on conflict (key_hash) do update set revoked_at = null, expires_at = null
       where present.revoked_at is not null or present.expires_at is not null`,
      [hashApiKey(key)],
    );
  }
}
