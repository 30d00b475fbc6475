import { AdministrationError, command, typed } from '../../frame/command.js';
import { readBase } from '../base-revision.js';
import { MIGRATIONS, faultOfLast, numberOf, readMigrations } from '../migration-files.js';

export const check = command({
  usage: '[--base REF]',
  summary:
    'checks names, numbers and markers of all files; with --base also that no file of that git revision was changed, and that new numbers come after its last',
  options: { base: { type: 'string' } },
  run: async ({ base }) => {
    const names = (await readMigrations(MIGRATIONS)).map(({ name }) => name);
    const faults = [await faultOfLast(names.at(-1))];
    if (base !== undefined) faults.push(...(await faultsAgainst(base, names)));
    const said = faults.filter((fault) => fault !== undefined);
    if (said.length > 0) throw new AdministrationError(said.join('\n'));
    return { text: `${names.length} migrations are in order.` };
  },
});

async function faultsAgainst(base: string, names: readonly string[]): Promise<string[]> {
  const revision = await readBase(base);
  const last = revision.names.at(-1);
  return [
    ...revision.altered.map(
      (name) =>
        `${name}.sql of ${base} was changed or removed. Restore it, and write a new migration for what is to change.`,
    ),
    ...names
      .filter((name) => !revision.names.includes(name) && last && numberOf(name) <= numberOf(last))
      .map(
        (name) =>
          `${name}.sql does not come after ${last}.sql, the last one of ${base}: ${typed('migrate', `renumber --base ${base}`)}`,
      ),
  ];
}
