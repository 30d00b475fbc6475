import { command } from '../../frame/command.js';
import { withDatabase } from '../../frame/connect.js';
import { readState } from '../applied-migrations.js';
import { MIGRATIONS, readMigrations } from '../migration-files.js';

export const status = command({
  usage: '[--json]',
  summary:
    'lists the migrations and whether they were applied; status 1 where an applied file is gone',
  options: { json: { type: 'boolean' } },
  run: () =>
    withDatabase(async (client) => {
      const { applied, pending, gone } = await readState(client, await readMigrations(MIGRATIONS));
      const rows = [
        ...applied.map(({ name, appliedAs, file }) => ({
          name,
          state: file ? 'applied' : 'gone',
          appliedAs,
        })),
        ...pending.map(({ name }) => ({ name, state: 'pending', appliedAs: undefined })),
      ];
      const lines = rows.map(
        ({ state, name, appliedAs = name }) =>
          `${state.padEnd(7)}  ${name}${name === appliedAs ? '' : ` (as ${appliedAs})`}`,
      );
      return { text: [...lines, ...gone].join('\n'), json: rows, failed: gone.length > 0 };
    }),
});
