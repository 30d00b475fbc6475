// Applies and undoes migrations with node-pg-migrate: each in a transaction of its own, together with its row of
// pgmigrations. A run that is killed leaves no lock and nothing of its migration.
//
// The text of a migration is handed over as a setting of the transaction, and EXECUTE in a block runs it. There PostgreSQL
// refuses each command that begins or ends a transaction, in whatever disguise, and gives the position of an error
// within the file.
import { randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import { type MigrationBuilder, type RunnerOption, runner } from 'node-pg-migrate';
import { escapeLiteral } from 'pg';
import type { ConnectionFields, DatabaseAddress } from '../../configuration/database-url.js';
import { KEEP_ALIVE, Session } from '../../database/session.js';
import { toMessage } from '../../telemetry/error-message.js';
import { APPLICATION, CONNECTION_LIMIT_MS, assertSupported, parseAddress, untilReachable } from '../cli/connection.js';
import { CliError } from '../cli/program.js';
import { isRefusal } from '../cli/session-end.js';
import { writingSettings } from '../cli/settings.js';
import { MigrationFault, type Script, explainFault, toExecutable } from './migration-fault.js';
import {
  type Direction,
  MIGRATIONS,
  type Migration,
  assertMigrations,
  hasStatement,
  readMigration,
} from './migration-files.js';

/** The setting is emptied before the migration runs, since parallel workers would copy it. */
const EXECUTE = `do $run$ declare file text := current_setting('order_lookup.file'); begin
  perform set_config('order_lookup.file', '', true);
  execute file;
end $run$`;

/** Deferred constraints are checked here, where a fault is still one of the migration and not of COMMIT. */
const CHECK_CONSTRAINTS = 'set constraints all immediate; set constraints all deferred';

/** What holds between the migrations, whatever role, database or a migration before set. */
const SESSION_SETTINGS = [
  'reset session authorization',
  'reset role',
  'reset all',
  `set default_transaction_isolation = 'read committed'`,
  'set default_transaction_read_only = off',
  'set default_transaction_deferrable = off',
].join('; ');

/** For the lock of all runs, which node-pg-migrate waits for outside of a transaction. */
const LOCK_SETTINGS = `set statement_timeout = 0; set lock_timeout = '120s'; do $$ begin
  set client_connection_check_interval = '100ms'; -- a platform that cannot notice a closed connection refuses it
exception when others then null; end $$`;
/** SQLSTATE lock_not_available. */
const LOCK_TIMEOUT = '55P03';

const NO_STATEMENT_REMEDIES: Readonly<Record<Direction, string>> = {
  up: 'Write one below "-- Up Migration".',
  down: 'Take the migration back by a new one, or write a statement below "-- Down Migration".',
};

/** node-pg-migrate would print each statement that fails, which may have 50 MB. All that it says comes as an error. */
const SILENT = { debug: ignore, info: ignore, warn: ignore, error: ignore };

function ignore(): void {
  // nothing is printed
}

type Strategies = NonNullable<RunnerOption['migrationLoaderStrategies']>;

interface Run {
  readonly direction: Direction;
  /** How many at most; on the way down the last ones. */
  readonly count: number;
  /** @throws CliError where this one is not meant */
  readonly check: (name: string) => void;
  /** Called when the migration is committed: one that fails behind it does not take it back. */
  readonly tell: (name: string) => void;
}

/**
 * Applies the migrations that are pending. Gives their names.
 * @param tell is called with each name when its migration is committed
 */
export function applyPending(
  address: DatabaseAddress = process.env,
  tell: (name: string) => void = ignore,
): Promise<string[]> {
  return run({ direction: 'up', count: Infinity, check: ignore, tell }, address);
}

/**
 * Undoes these migrations, which are the last ones.
 * @param tell is called with each name when its migration is undone
 * @throws CliError, with nothing undone, where somebody has applied another one since
 */
export function undo(names: readonly string[], tell: (name: string) => void = ignore): Promise<string[]> {
  const check = (name: string): void => {
    if (names.includes(name)) return;
    throw new CliError(`${name} would be undone, and was not shown: another run came between. Run the command again.`);
  };
  return run({ direction: 'down', count: names.length, check, tell }, process.env);
}

/** The statements that run a migration, in a transaction that has begun. They leave the role that they found. */
export function toStatements(script: Script, session: Session, limits: readonly string[] = []): string[] {
  const name = escapeLiteral(script.title.replace(/\.sql$/, ''));
  const settings = [
    SESSION_SETTINGS, // first: `reset all` would undo the others
    writingSettings(session),
    `set local order_lookup.migration = ${name}`,
    ...limits, // last: they replace those of `writingSettings`
  ];
  return [
    settings.join('; '),
    `select set_config('order_lookup.file', ${quote(toExecutable(script))}, true)`,
    EXECUTE,
    `${CHECK_CONSTRAINTS}; ${settings.join('; ')}`, // the row of pgmigrations follows, by our role
  ];
}

/** @throws MigrationFault where there is nothing to run */
export function toScript(migration: Migration, direction: Direction): Script {
  const title = `${migration.name}.sql`;
  const sql = migration[direction];
  if (hasStatement(sql)) return { title, sql };
  throw new MigrationFault(`${title} has no statement on the way ${direction}. ${NO_STATEMENT_REMEDIES[direction]}`);
}

/**
 * As PostgreSQL reads it whatever it holds: no text contains a tag that was not there when it was written. To double
 * the quotes of 50 MB takes seconds.
 */
function quote(text: string): string {
  const tag = `$file_${randomUUID().replaceAll('-', '')}$`;
  return tag + text + tag;
}

async function run({ direction, count, check, tell }: Run, address: DatabaseAddress): Promise<string[]> {
  await assertMigrations(); // all of them, before the first is applied
  return withSession(address, async (session) => {
    let script: Script | undefined;
    let before: string | undefined;
    const load = async (name: string): Promise<string[]> => {
      if (before !== undefined) tell(before); // node-pg-migrate loads a migration when the one before it is committed
      before = name;
      script = { title: `${name}.sql`, sql: '' }; // before anything of it can fail
      check(name);
      script = toScript(await readAgain(name), direction);
      return toStatements(script, session);
    };
    try {
      const done = await runner({
        dbClient: session,
        dir: MIGRATIONS,
        direction,
        count,
        migrationsTable: 'pgmigrations',
        checkOrder: false, // names carry the time: migrations of two branches do not depend on each other
        singleTransaction: false,
        advisoryLockMode: 'wait',
        logger: SILENT,
        migrationLoaderStrategies: loadSql(load),
      });
      if (before !== undefined) tell(before);
      return done.map(({ name }) => name);
    } catch (error) {
      throw script === undefined ? explainLock(error) : explainFault(error, script);
    }
  });
}

/** All were read before the run, but somebody may remove one meanwhile. */
async function readAgain(name: string): Promise<Migration> {
  try {
    return await readMigration(name);
  } catch (error) {
    throw new MigrationFault(`${name}.sql cannot be read: ${toMessage(error)}.`);
  }
}

/** For the option `migrationLoaderStrategies`. A migration is read when its turn comes: there may be many, and large. */
function loadSql(load: (name: string) => Promise<string[]>): Strategies {
  const addStatements = (path: string) => async (builder: MigrationBuilder) => {
    for (const statement of await load(basename(path, '.sql'))) builder.sql(statement);
  };
  return [
    {
      extensions: ['.sql'],
      loader: async (paths: string[]) =>
        paths.map((path) => ({
          id: path,
          filePaths: [path],
          actions: { up: addStatements(path), down: addStatements(path) },
        })),
    },
  ];
}

function explainLock(error: unknown): unknown {
  if (!isRefusal(error) || error.code !== LOCK_TIMEOUT) return error;
  return new CliError('Another run of migrations did not end within two minutes. Try again later.');
}

/** Works with a session of its own, outside of a transaction. */
async function withSession<T>(address: DatabaseAddress, work: (session: Session) => Promise<T>): Promise<T> {
  const fields = parseAddress(address);
  const session = await untilReachable(fields, () => openSession(fields));
  try {
    return await work(session);
  } finally {
    await session.end();
  }
}

async function openSession(fields: ConnectionFields): Promise<Session> {
  const session = new Session({
    ...fields,
    application_name: APPLICATION,
    connectionTimeoutMillis: CONNECTION_LIMIT_MS,
    ...KEEP_ALIVE,
  });
  try {
    await session.connect();
    await assertSupported(session);
    await session.query(`${SESSION_SETTINGS}; ${LOCK_SETTINGS}`); // in this order: `reset all` would undo the limit
    return session;
  } catch (error) {
    void session.end();
    throw error;
  }
}
