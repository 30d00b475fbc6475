import { AdministrationError } from '../../frame/administration-error.js';
import { command } from '../../frame/command.js';
import { withDatabase } from '../../frame/connect.js';
import { migrationFor } from '../../lists/list-migration.js';
import { readListFile } from '../../lists/read-list-file.js';
import { createMigration } from '../create-migration.js';
import { MIGRATIONS } from '../read-migrations.js';

export const create = command({
  usage: 'NAME [--from FILE.csv [--complete]]',
  summary:
    'creates the next migration: an empty one, or one that brings the table to what the file says; with --complete what the file lacks goes',
  operands: [1, 1],
  options: { from: { type: 'string' }, complete: { type: 'boolean' } },
  run: async ({ from, complete }, [name = '']) => {
    if (from === undefined) {
      if (complete) throw new AdministrationError('--complete needs a file: --from FILE.csv');
      return { text: `created ${await createMigration(MIGRATIONS, name)}` };
    }
    const file = await readListFile(from);
    const text = await withDatabase((client) =>
      migrationFor(client, from, file, complete === true),
    );
    return {
      text:
        text === undefined
          ? `The database is as ${from} says. Nothing was written.`
          : `created ${await createMigration(MIGRATIONS, name, text)}`,
    };
  },
});
