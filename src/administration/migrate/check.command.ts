import { command, refuse } from '../frame/command.js';
import { faultsOfFiles } from './migration-file.js';
import { readNames } from './migration-names.js';

export const check = command({
  summary: 'checks names and markers of all files, without a database',
  run: async () => {
    const faults = await faultsOfFiles();
    if (faults.length > 0) refuse(faults.join('\n'));
    const { names } = await readNames();
    return { text: `${names.length} migrations are in order.` };
  },
});
