import { command } from '../../frame/command.js';
import { createMigration } from '../create-migration.js';
import { MIGRATIONS } from '../read-migrations.js';

export const create = command({
  usage: 'NAME',
  summary: 'creates the next empty migration',
  operands: [1, 1],
  run: async (_values, [name = '']) => ({
    text: `created ${await createMigration(MIGRATIONS, name)}`,
  }),
});
