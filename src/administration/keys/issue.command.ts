import { Command } from 'commander';
import { CliError, print, printJson } from '../cli/program.js';
import { invisibleCharactersOf } from '../lists/characters.js';
import { DURATION_UNITS, parseDuration } from './duration.js';
import { changeKeys, insertKey, textOfIssued } from './key-changes.js';

interface IssueOptions {
  readonly client: string;
  readonly expiresIn?: string;
  readonly json?: true;
}

export const issue = new Command('issue')
  .description('makes a key, stores its hash and prints the key once')
  .requiredOption('--client <NAME>', 'whose key it is, such as "Acme TMS"', checkClient)
  .option('--expires-in <TIME>', `such as 90d (${DURATION_UNITS}); without it the key never expires`, (text) =>
    parseDuration('--expires-in', text),
  )
  .option('--json', 'print it for programs')
  .action(async ({ client, expiresIn, json }: IssueOptions) => {
    const issued = await changeKeys((session) => insertKey(session, { client, lifetime: expiresIn ?? null }));
    const { id, key, expiresAt } = issued;
    if (json) printJson({ id, client, key, expiresAt });
    else print(textOfIssued('Key', issued));
  });

function checkClient(name: string): string {
  const characters = invisibleCharactersOf(name);
  if (characters.length === 0) return name;
  throw new CliError(`--client holds ${characters.join(', ')}, which nobody sees or types. Write the name anew.`);
}
