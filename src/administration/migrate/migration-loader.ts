// How a file becomes statements for node-pg-migrate, which runs them between its own BEGIN and COMMIT.
//
// The text of the file is handed over as a setting of the transaction, and EXECUTE in a block runs it. There PostgreSQL
// refuses each command that begins or ends a transaction, in whatever disguise, and gives the position of an error
// within the file.
import { randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import type { MigrationBuilder, RunnerOption } from 'node-pg-migrate';
import { messageOf } from '../../telemetry/error-message.js';
import type { Session } from '../../database/session.js';
import { writingSettings } from '../cli/settings.js';
import { type Direction, type MigrationFile, hasStatement, readMigrationFile } from './migration-file.js';
import { MigrationFault } from './migration-fault.js';
import type { RunProgress } from './run-progress.js';

/** The setting is emptied before the file runs, since parallel workers would copy it. */
const EXECUTE = `do $run$ declare file text := current_setting('order_lookup.file'); begin
  perform set_config('order_lookup.file', '', true);
  execute file;
end $run$`;

/** Deferred constraints are checked here, where a fault is still one of the file and not of COMMIT. */
const CHECK_CONSTRAINTS = 'set constraints all immediate; set constraints all deferred';

/** Settings of the session, which hold between the files, whatever role, database or a file before set. */
export const SESSION_SETTINGS = [
  'reset session authorization',
  'reset role',
  'reset all',
  `set default_transaction_isolation = 'read committed'`,
  'set default_transaction_read_only = off',
  'set default_transaction_deferrable = off',
  'set statement_timeout = 0',
  `set lock_timeout = '120s'`, // of the lock of all runs; a file has a limit of its own
  `do $$ begin
    set client_connection_check_interval = '100ms';
  exception when others then null; end $$`,
].join('; ');

export interface LoaderOptions {
  readonly session: Session;
  /** Is told when the turn of a file comes, and what it holds. */
  readonly progress: RunProgress;
  /** The caller's transaction is used: node-pg-migrate sends neither BEGIN nor COMMIT. */
  readonly isInCallersTransaction: boolean;
  /** Settings beside ours, for each file. */
  readonly limits: string;
}

type Strategies = NonNullable<RunnerOption['migrationLoaderStrategies']>;
type Loader = Extract<Strategies[number]['loader'], (...parameters: never) => unknown>;

/** For the option `migrationLoaderStrategies`. */
export function sqlStrategies(options: LoaderOptions): Strategies {
  const loader: Loader = async (paths) => paths.map((path) => unitOf(path, options));
  return [{ extensions: ['.sql'], loader }];
}

/** A file is read when its turn comes: there may be many, and large ones. */
function unitOf(path: string, options: LoaderOptions) {
  const name = basename(path, '.sql');
  const actionOf = (direction: Direction) => async (builder: MigrationBuilder) => {
    options.progress.begin(name);
    const file = await readFileOf(name);
    addStatements(builder, file, direction, options);
  };
  return {
    id: path,
    filePaths: [path],
    actions: { up: actionOf('up'), down: actionOf('down') },
  };
}

/** All files were read before the run, but somebody may remove one meanwhile. */
async function readFileOf(name: string): Promise<MigrationFile> {
  try {
    return await readMigrationFile(name);
  } catch (error) {
    throw new MigrationFault(`${name}.sql cannot be read: ${messageOf(error)}.`);
  }
}

function addStatements(
  builder: MigrationBuilder,
  file: MigrationFile,
  direction: Direction,
  options: LoaderOptions,
): void {
  const { name } = file;
  const sql = file[direction];
  const script = `${sql}\n;select`; // EXECUTE refuses `select … into` where it is the last statement
  options.progress.read(name, script);
  if (!hasStatement(sql)) {
    throw new MigrationFault(`${name}.sql has no statement on the way ${direction}.`);
  }
  if (options.isInCallersTransaction) builder.noTransaction();
  const settings = settingsOf(name, options);
  builder.sql(settings);
  builder.sql(`select set_config('order_lookup.file', ${literalOf(script)}, true)`);
  builder.sql(EXECUTE);
  builder.sql(`${CHECK_CONSTRAINTS}; ${settings}`); // the row in pgmigrations follows, by our role
}

/**
 * As PostgreSQL reads it whatever it holds: no text contains a tag that was not there when it was written. To double
 * the quotes of 50 MB takes seconds, in which PostgreSQL would end the idle session of a rehearsal.
 */
function literalOf(text: string): string {
  const tag = `$file_${randomUUID().replaceAll('-', '')}$`;
  return tag + text + tag;
}

function settingsOf(name: string, { session, limits }: LoaderOptions): string {
  const settings = [SESSION_SETTINGS, writingSettings(session)];
  settings.push(`set local order_lookup.migration = '${name}'`);
  if (limits !== '') settings.push(limits);
  return settings.join('; ');
}
