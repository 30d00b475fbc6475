import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { AdministrationError, command } from '../../frame/command.js';
import { readBase } from '../base-revision.js';
import {
  MIGRATIONS,
  migrationNames,
  nameOf,
  numberOf,
  subjectOf,
  writeLast,
} from '../migration-files.js';

export const renumber = command({
  usage: '--base REF',
  summary:
    'gives the files that are not in that git revision the next free numbers, in their order',
  options: { base: { type: 'string' } },
  run: async ({ base }) => {
    if (base === undefined)
      throw new AdministrationError('--base is missing: a git revision, such as origin/main.');
    const { names } = await readBase(base);
    const own = (await migrationNames(MIGRATIONS)).filter((name) => !names.includes(name));
    const last = names.at(-1);
    const first = (last ? numberOf(last) : 0) + 1;
    const moves = own.map((name, at) => ({ name, to: nameOf(first + at, subjectOf(name)) }));
    const renamed = moves.filter(({ name, to }) => name !== to);
    // The last one first, where they get higher numbers: none overwrites another, since the new numbers are in the order of the former ones
    const order = [
      ...renamed.filter(({ name, to }) => to > name).reverse(),
      ...renamed.filter(({ name, to }) => to < name),
    ];
    for (const { name, to } of order)
      await rename(join(MIGRATIONS, `${name}.sql`), join(MIGRATIONS, `${to}.sql`));
    const end = moves.at(-1)?.to ?? last;
    if (end) await writeLast(end);
    return {
      text: renamed.map(({ name, to }) => `${name} → ${to}`).join('\n') || 'Nothing to do.',
    };
  },
});
