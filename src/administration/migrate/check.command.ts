import { Command } from 'commander';
import { CliError, print } from '../cli/program.js';
import { faultsOfFiles } from './migration-file.js';
import { readNames } from './migration-names.js';

export const check = new Command('check')
  .description('checks names and markers of all files, without a database')
  .action(async () => {
    const faults = await faultsOfFiles();
    if (faults.length > 0) throw new CliError(faults.join('\n'));
    const { names } = await readNames();
    print(`${names.length} migrations are in order.`);
  });
