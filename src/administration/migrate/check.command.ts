import { TEXT, command, refuse } from '../frame/command.js';
import { faultsAgainstBase } from './git-base.js';
import { faultsOfFiles } from './migration-file.js';
import { readNames } from './migration-names.js';

export const check = command({
  usage: '[--base REF]',
  summary:
    'checks names and markers of all files, without a database; ' +
    'with --base also that no file of that git revision was changed or removed',
  options: { base: TEXT },
  run: async ({ base }) => {
    const faults = await faultsOfFiles();
    if (base !== undefined) faults.push(...faultsAgainstBase(base));
    if (faults.length > 0) refuse(faults.join('\n'));
    const { names } = await readNames();
    return { text: `${names.length} migrations are in order.` };
  },
});
