import { basename } from 'node:path';
import { Command } from 'commander';
import { CliError, print } from '../cli/program.js';
import { changesFrom, readListFile } from '../lists/list-file.js';
import { migrationText } from '../lists/migration-text.js';
import { createMigration } from './create-migration.js';
import { withRehearsal } from './rehearsal.js';

interface NewOptions {
  readonly from?: string;
  readonly complete?: boolean;
}

export const create = new Command('new')
  .description('creates the next migration: an empty one, or one that brings the table to what a file says')
  .argument('<NAME>', 'such as add_order_type')
  .option('--from <FILE.csv>', 'a list, as `codes export` writes it')
  .option('--complete', 'rows that the file lacks are deleted')
  .action(async (subject: string, { from, complete = false }: NewOptions) => {
    if (from !== undefined) await createFrom({ file: from, subject, isComplete: complete });
    else if (complete) throw new CliError('--complete needs --from FILE.csv.');
    else await createMigration(subject);
  });

interface ListMigration {
  readonly file: string;
  readonly subject: string;
  /** Rows that the file lacks go. */
  readonly isComplete: boolean;
}

/**
 * The file is read before the rehearsal, which ends soon. The pending files count, so that the same command does not
 * write the same rows twice.
 */
async function createFrom({ file, subject, isComplete }: ListMigration): Promise<void> {
  const listFile = await readListFile(file);
  const changes = await withRehearsal((session) => changesFrom(session, listFile, isComplete));
  const title = `Written from ${JSON.stringify(basename(file))}`;
  const text = migrationText(title, changes);
  if (text === undefined) print(`The database already holds what ${file} says. Nothing was written.`);
  else await createMigration(subject, text);
}
