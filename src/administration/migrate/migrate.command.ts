import { parseArgs } from 'node:util';
import type { Client } from 'pg';
import { AdministrationError, connect } from '../command/connect.js';
import { appliedMigrations, runMigrations } from './migration-run.js';
import { MIGRATIONS, createMigration, migrationNames } from './migrations.js';
import { canBreakClients, describePlan } from './plan/describe-plan.js';
import { planMigrations } from './plan/plan-migrations.js';

const USAGE = `Usage: migrate up | down [COUNT] | status | new NAME | plan [--json]
  up      applies the migrations that are pending
  down    undoes the last migration, or the last COUNT
  status  lists the migrations and whether they were applied
  new     creates the next empty migration
  plan    shows what callers would see change, and changes nothing; status 2 where it can break clients
The database is the one at DATABASE_URL.`;

/** @returns the status to exit with */
export async function migrate(words: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: words,
    allowPositionals: true,
    options: {
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const [command, argument, ...rest] = positionals;
  if (values.help) return print(USAGE);
  if (
    rest.length > 0 ||
    (argument !== undefined && command !== 'down' && command !== 'new') ||
    (values.json && command !== 'plan')
  )
    throw new AdministrationError(USAGE);
  switch (command) {
    case 'up':
      return withDatabase(async (client) =>
        report('applied', await runMigrations(client, MIGRATIONS, 'up', Infinity)),
      );
    case 'down': {
      if (!/^[1-9]\d*$/.test(argument ?? '1'))
        throw new AdministrationError(
          `"${argument}" is not a number of migrations to undo: 1 or more is needed.`,
        );
      return withDatabase(async (client) =>
        report('undone', await runMigrations(client, MIGRATIONS, 'down', Number(argument ?? 1))),
      );
    }
    case 'status':
      return withDatabase(status);
    case 'new':
      if (argument === undefined)
        throw new AdministrationError('The name is missing: migrate new add_order_type');
      return print(`created ${await createMigration(MIGRATIONS, argument)}`);
    case 'plan':
      return withDatabase(async (client) => {
        const plan = await planMigrations(client, MIGRATIONS);
        print(values.json ? JSON.stringify(plan) : describePlan(plan));
        return canBreakClients(plan) ? 2 : 0;
      });
    default:
      throw new AdministrationError(USAGE);
  }
}

async function withDatabase(work: (client: Client) => Promise<number>): Promise<number> {
  const client = await connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function status(client: Client): Promise<number> {
  const applied = new Set(await appliedMigrations(client));
  const names = await migrationNames(MIGRATIONS);
  const unknown = [...applied].filter((name) => !names.includes(name));
  return print(
    [
      ...names.map((name) => `${applied.has(name) ? 'applied' : 'pending'}  ${name}`),
      ...unknown.map((name) => `applied  ${name} (its file is not here)`),
    ].join('\n'),
  );
}

const report = (done: string, names: readonly string[]): number =>
  print(names.length === 0 ? 'Nothing to do.' : names.map((name) => `${done}  ${name}`).join('\n'));

function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return 0;
}
