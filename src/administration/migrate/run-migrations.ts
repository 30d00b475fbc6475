// Applies and undoes migrations with node-pg-migrate. Each migration has its own transaction, which also writes or
// deletes its row in pgmigrations. A run that is killed leaves no lock, and nothing of the migration that ran.
import { randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import { type MigrationBuilder, type RunnerOption, runner } from 'node-pg-migrate';
import { escapeLiteral } from 'pg';
import type { DatabaseAddress } from '../../configuration/database-url.js';
import { type Database, explainLoss } from '../../database/database.js';
import { findRefusal } from '../../database/database-errors.js';
import type { Session } from '../../database/session.js';
import {
  type Limits,
  MIGRATION_SESSION,
  SET_CATALOG_PATH,
  RUNNER_SESSION,
  formatSettings,
} from '../../database/transactions.js';
import { OperatorError, toMessage } from '../../telemetry/error-message.js';
import { withDatabase } from '../cli/connection.js';
import { MigrationFault, type Script, explainFault, toExecutable } from './migration-fault.js';
import {
  type Direction,
  MIGRATIONS,
  type Migration,
  assertMigrations,
  hasStatement,
  readMigration,
} from './migration-files.js';
import { assertOwner } from './migration-owner.js';

/**
 * Runs the SQL in the setting order_lookup.file, because a `do` block takes no parameters. EXECUTE refuses to end the
 * transaction. The setting is emptied first, or each parallel worker of PostgreSQL would get a copy of up to 50 MB.
 */
const EXECUTE = `do $run$ declare file text := current_setting('order_lookup.file'); begin
  perform set_config('order_lookup.file', '', true);
  execute file;
end $run$`;

/** Checks deferred constraints. Without this, only COMMIT would check them, and a dry run ends without COMMIT. */
const CHECK_CONSTRAINTS = 'set constraints all immediate; set constraints all deferred';

const LOCK_NOT_AVAILABLE = '55P03';

const NO_STATEMENT_REMEDIES: Readonly<Record<Direction, string>> = {
  up: 'Write one below "-- Up Migration".',
  down: 'Undo it by a new migration, or write a statement below "-- Down Migration".',
};

/** A logger that prints nothing. node-pg-migrate would print each statement that fails, which may have 50 MB. */
const SILENT = { debug: ignore, info: ignore, warn: ignore, error: ignore };

function ignore(): void {
  // nothing is printed
}

type Strategies = NonNullable<RunnerOption['migrationLoaderStrategies']>;

interface RunOptions {
  readonly direction: Direction;
  /** How many migrations run at most: the first pending ones, or for the direction `down` the last applied ones. */
  readonly count: number;
  /** Called before each migration. Throws OperatorError if this migration must not run. */
  readonly check: (name: string) => void;
  /** Called when a migration is committed. If a later migration fails, this one stays applied. */
  readonly report: (name: string) => void;
}

/** Applies the pending migrations, and returns their names. */
export function applyPending(
  address: DatabaseAddress,
  reportApplied: (name: string) => void = ignore,
): Promise<string[]> {
  return withDatabase(
    (database) => run(database, { direction: 'up', count: Infinity, check: ignore, report: reportApplied }),
    address,
  );
}

/**
 * Undoes these migrations, the newest first. A person has agreed to exactly these.
 * @throws OperatorError if these are no longer the last migrations
 */
export async function undo(
  database: Database,
  names: readonly string[],
  reportUndone: (name: string) => void = ignore,
): Promise<string[]> {
  const begun: string[] = [];
  const check = (name: string): void => {
    const expectedName = names[begun.length];
    if (name === expectedName) {
      begun.push(name);
      return;
    }
    // node-pg-migrate commits each migration before it loads the next one, so those that were begun are undone
    const outcome = begun.length === 0 ? 'Nothing was undone' : `Already undone: ${begun.join(', ')}`;
    throw new OperatorError(
      `${name} would be undone, but ${expectedName} was shown: another run has applied or undone a migration. ` +
        `${outcome}. Run this again.`,
    );
  };
  const undone = await run(database, { direction: 'down', count: names.length, check, report: reportUndone });
  if (undone.length < names.length) {
    throw new OperatorError(`${names[undone.length]} is not applied any more: another run has undone it.`);
  }
  return undone;
}

/** Returns the statements that run a migration. The transaction must have begun. */
export function toStatements(script: Script, { serverVersion }: Session, limits?: Partial<Limits>): string[] {
  const name = escapeLiteral(script.title.replace(/\.sql$/, ''));
  const settings = [
    MIGRATION_SESSION, // first, because its `reset all` would undo the other settings
    formatSettings('migration', serverVersion, limits),
    `set local order_lookup.migration = ${name}`,
  ].join('; ');
  return [
    settings,
    `select set_config('order_lookup.file', ${dollarQuote(toExecutable(script))}, true)`,
    EXECUTE,
    `${CHECK_CONSTRAINTS}; ${settings}`, // again, because the file may have set a role that cannot write pgmigrations
  ];
}

/** Returns the SQL of one direction. Throws MigrationFault if it has no statement. */
export function toScript(migration: Migration, direction: Direction): Script {
  const title = `${migration.name}.sql`;
  const sql = migration[direction];
  if (hasStatement(sql)) return { title, sql };
  throw new MigrationFault(`${title} has no statement on the way ${direction}. ${NO_STATEMENT_REMEDIES[direction]}`);
}

/** Quotes the text with a random tag that the text cannot contain. Doubling the quotes of 50 MB would take seconds. */
function dollarQuote(text: string): string {
  const tag = `$file_${randomUUID().replaceAll('-', '')}$`;
  return tag + text + tag;
}

async function run(database: Database, options: RunOptions): Promise<string[]> {
  await assertMigrations(); // all files, before the first one is applied
  // A hot standby refuses the kind `dryRun`, and the message names the standby. The kind `read` would succeed on a
  // standby. Then the first migration would fail, and be blamed
  await database.within('dryRun', assertOwner);
  return database.borrow((session) => new MigrationRun(session, options).migrate());
}

class MigrationRun {
  /** The migration that runs. Undefined before the first migration. */
  private current: { readonly name: string; readonly script: Script } | undefined;

  constructor(
    private readonly session: Session,
    private readonly options: RunOptions,
  ) {}

  /** Returns the names of the migrations. If one fails, throws an error that names it. */
  async migrate(): Promise<string[]> {
    const { session, options } = this;
    try {
      await session.query(RUNNER_SESSION); // these settings also limit how long node-pg-migrate waits for another run
      const done = await runner({
        dbClient: session,
        dir: MIGRATIONS,
        direction: options.direction,
        count: options.count,
        migrationsTable: 'pgmigrations',
        checkOrder: false, // true would refuse a pending migration if one with a later name is applied
        singleTransaction: false,
        advisoryLockMode: 'wait',
        logger: SILENT,
        migrationLoaderStrategies: loadSql((name) => this.load(name)),
      });
      this.reportCommitted();
      return done.map(({ name }) => name);
    } catch (error) {
      throw this.current ? explainFault(error, this.current.script) : explainStart(error, session);
    }
  }

  /** Returns the statements of a migration. node-pg-migrate calls `load` when the migration before is committed. */
  private async load(name: string): Promise<string[]> {
    const { session, options } = this;
    this.reportCommitted();
    this.current = { name, script: { title: `${name}.sql`, sql: '' } }; // first, so that each error names it
    options.check(name);
    const script = toScript(await readAgain(name), options.direction);
    this.current = { name, script };
    // SET_CATALOG_PATH is the last, because node-pg-migrate then writes the row of pgmigrations with this search path
    return [...toStatements(script, session), SET_CATALOG_PATH];
  }

  /** Call it only when the current migration is committed. */
  private reportCommitted(): void {
    if (this.current) this.options.report(this.current.name);
  }
}

/** Reads a file that `assertMigrations` has already read: somebody may have removed it meanwhile. */
async function readAgain(name: string): Promise<Migration> {
  try {
    return await readMigration(name);
  } catch (error) {
    throw new MigrationFault(`${name}.sql cannot be read: ${toMessage(error)}.`);
  }
}

/** Makes node-pg-migrate call `load` when a migration runs. Its own loader would read all files at the start. */
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

/** Explains an error from before the first migration. */
function explainStart(error: unknown, session: Session): unknown {
  if (findRefusal(error)?.code === LOCK_NOT_AVAILABLE) {
    // `lock_timeout` of RUNNER_SESSION
    return new OperatorError('Another run of migrations did not end within two minutes. Try again later.');
  }
  const explained = explainLoss(error, session);
  if (explained instanceof OperatorError || findRefusal(explained)) return explained;
  const [sentence] = toMessage(explained).split('\n'); // node-pg-migrate adds a stack to some errors
  return new OperatorError(`${sentence}. Nothing was changed.`);
}
