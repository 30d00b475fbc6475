import { AdministrationError } from '../frame/administration-error.js';
import { type Program, command } from '../frame/command.js';
import { withDatabase } from '../frame/connect.js';
import { appliedMigrations, raiseEveryTopic, runMigrations } from './migration-run.js';
import { MIGRATIONS, createMigration, migrationNames } from './migrations.js';
import { canBreakClients, describePlan } from './plan/describe-plan.js';
import { planMigrations } from './plan/plan-migrations.js';

const up = command({
  summary: 'applies the migrations that are pending',
  run: () =>
    withDatabase(async (client) => {
      const done = await runMigrations(client, MIGRATIONS, 'up', Infinity);
      await raiseEveryTopic(client);
      return report('applied', done);
    }),
});

const down = command({
  usage: '[COUNT]',
  summary: 'undoes the last migration, or the last COUNT',
  operands: [0, 1],
  run: async (_values, [count = '1']) => {
    if (!/^[1-9]\d*$/.test(count))
      throw new AdministrationError(
        `"${count}" is not a number of migrations to undo: 1 or more is needed.`,
      );
    return withDatabase(async (client) => {
      const done = await runMigrations(client, MIGRATIONS, 'down', Number(count));
      await raiseEveryTopic(client);
      return report('undone', done);
    });
  },
});

const status = command({
  summary: 'lists the migrations and whether they were applied',
  run: () =>
    withDatabase(async (client) => {
      const applied = new Set(await appliedMigrations(client));
      const names = await migrationNames(MIGRATIONS);
      const unknown = [...applied].filter((name) => !names.includes(name));
      return {
        text: [
          ...names.map((name) => `${applied.has(name) ? 'applied' : 'pending'}  ${name}`),
          ...unknown.map((name) => `applied  ${name} (its file is not here)`),
        ].join('\n'),
      };
    }),
});

const create = command({
  usage: 'NAME',
  summary: 'creates the next empty migration',
  operands: [1, 1],
  run: async (_values, [name = '']) => ({
    text: `created ${await createMigration(MIGRATIONS, name)}`,
  }),
});

const plan = command({
  usage: '[--json]',
  summary:
    'shows what callers would see change, and changes nothing; status 2 where it can break clients',
  options: { json: { type: 'boolean' } },
  run: () =>
    withDatabase(async (client) => {
      const planned = await planMigrations(client, MIGRATIONS);
      return { text: describePlan(planned), json: planned, found: canBreakClients(planned) };
    }),
});

export const migrate: Program = {
  name: 'migrate',
  commands: { up, down, status, new: create, plan },
  notes: 'The database is the one at DATABASE_URL.',
};

const report = (done: string, names: readonly string[]): { text: string } => ({
  text: names.map((name) => `${done}  ${name}`).join('\n') || 'Nothing to do.',
});
