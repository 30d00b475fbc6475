import { command } from '../../frame/command.js';
import { withDatabase } from '../../frame/connect.js';
import { appliedMigrations, compareWithApplied, faultOf } from '../applied-migrations.js';
import { MIGRATIONS, readMigrations } from '../read-migrations.js';

export const status = command({
  usage: '[--json]',
  summary:
    'lists the migrations and whether they were applied; status 1 where an applied file was changed or is gone',
  options: { json: { type: 'boolean' } },
  run: () =>
    withDatabase(async (client) => {
      const files = await readMigrations(MIGRATIONS);
      const { applied, pending } = compareWithApplied(files, await appliedMigrations(client));
      const rows = applied.map((entry) => {
        const { migration, name, appliedAt, appliedBy } = entry;
        const state = migration === undefined ? 'gone' : entry.isChanged ? 'changed' : 'applied';
        return { name: migration?.name ?? name, state, appliedAs: name, appliedAt, appliedBy };
      });
      const faults = applied.map(faultOf).filter((fault) => fault !== undefined);
      return {
        text: [
          ...rows.map(
            ({ state, name, appliedAs }) =>
              `${state.padEnd(7)}  ${name}${name === appliedAs ? '' : ` (as ${appliedAs})`}`,
          ),
          ...pending.map(({ name }) => `pending  ${name}`),
          ...faults,
        ].join('\n'),
        json: [...rows, ...pending.map(({ name }) => ({ name, state: 'pending' }))],
        failed: faults.length > 0,
      };
    }),
});
