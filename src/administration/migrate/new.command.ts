import { basename } from 'node:path';
import { Command } from 'commander';
import type { DatabaseAddress } from '../../configuration/database-url.js';
import type { Session } from '../../database/session.js';
import { OperatorError } from '../../telemetry/error-message.js';
import { type ProgramIo, print } from '../cli/program.js';
import { readCsvFile } from '../csv/csv-file.js';
import { compareWithTable } from '../csv/csv-migration.js';
import { dryRunPending, runScript } from './dry-run.js';
import { MigrationFault } from './migration-fault.js';
import { assertMigrations, assertSubject, createMigration, formatMigration } from './migration-files.js';

interface NewOptions {
  readonly from?: string;
  readonly complete?: boolean;
}

export function createNew(io: ProgramIo): Command {
  return new Command('new')
    .description('creates an empty migration; with --from, a migration that gives a table the content of a CSV file')
    .argument('<NAME>', 'such as add_order_type')
    .option('--from <FILE.csv>', 'a file in the form that `codes export` prints')
    .option('--complete', 'the migration also deletes the rows of the table that are not in the file')
    .action((subject: string, options: NewOptions) => create(io, subject, options));
}

async function create(io: ProgramIo, subject: string, { from, complete = false }: NewOptions): Promise<void> {
  if (from === undefined && complete) throw new OperatorError('--complete needs --from FILE.csv.');
  if (from === undefined) {
    print(io, `created ${await createMigration(subject)}`);
    return;
  }
  const composed = await composeFrom(io.env, { path: from, subject, isComplete: complete });
  if (composed === undefined) {
    print(io, `The database already contains what ${from} says, or pending migrations add it. Nothing was written.`);
    return;
  }
  print(io, `created ${await createMigration(subject, composed.text)}`);
  if (composed.lackingCount > 0) print(io, describeLacking(composed.lackingCount, complete));
}

function describeLacking(count: number, isComplete: boolean): string {
  const outcome = isComplete ? 'The migration deletes them.' : 'They stay; --complete would delete them.';
  return `Rows of the table that the file lacks: ${count}. ${outcome}`;
}

interface Composed {
  readonly text: string;
  readonly lackingCount: number;
}

/**
 * Compares the file with the table as it will be after the pending migrations. Otherwise a second run of this command
 * would write the same rows again. Returns undefined if the table already has the content of the file.
 */
async function composeFrom(
  environment: DatabaseAddress,
  { path, subject, isComplete }: { path: string; subject: string; isComplete: boolean },
): Promise<Composed | undefined> {
  assertSubject(subject); // before the dry run, which may take long
  await assertMigrations();
  const file = await readCsvFile(path);
  return dryRunPending(environment, async (session) => {
    const { up, down, lackingCount } = await compareWithTable(session, file, isComplete);
    if (up.length === 0) return undefined;
    await tryStatements(session, path, up); // in the same dry run, so that PostgreSQL's constraints check the rows
    // The file's name is quoted: a line break in it would end the comment, and the rest of the name would run as SQL
    return { text: formatMigration(`Written from ${JSON.stringify(basename(path))}`, up, down), lackingCount };
  });
}

async function tryStatements(session: Session, path: string, statements: readonly string[]): Promise<void> {
  try {
    await runScript(session, { title: `SQL of ${path}`, sql: statements.join('\n') });
  } catch (error) {
    if (!(error instanceof MigrationFault)) throw error;
    throw new OperatorError(`${error.message}\nNothing was written.`);
  }
}
