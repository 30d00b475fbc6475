import { basename } from 'node:path';
import { FLAG, type Outcome, TEXT, command, refuse } from '../frame/command.js';
import { changesFrom, readListFile } from '../lists/list-file.js';
import { migrationText } from '../lists/migration-text.js';
import { createMigration } from './create-migration.js';
import { withRehearsal } from './rehearsal.js';

export const create = command({
  usage: 'NAME [--from FILE.csv [--complete]]',
  operands: { least: 1, most: 1 },
  summary:
    'creates the next migration: an empty one, or one that brings the table to what the file says; ' +
    'with --complete rows that the file lacks are deleted',
  options: { from: TEXT, complete: FLAG },
  run: async ({ from, complete = false }, [subject = '']) => {
    if (from !== undefined) return createFrom({ file: from, subject, isComplete: complete });
    if (complete) refuse('--complete needs --from FILE.csv.');
    return createMigration(subject);
  },
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
async function createFrom({ file, subject, isComplete }: ListMigration): Promise<Outcome> {
  const listFile = await readListFile(file);
  const changes = await withRehearsal((session) => changesFrom(session, listFile, isComplete));
  const title = `Written from ${JSON.stringify(basename(file))}`;
  const text = migrationText(title, changes);
  if (text !== undefined) return createMigration(subject, text);
  return { text: `The database already holds what ${file} says. Nothing was written.` };
}
