import { FLAG, TEXT, command, refuse } from '../frame/command.js';
import { invisibleCharactersOf } from '../lists/characters.js';
import { DURATION_UNITS, parseDuration } from './duration.js';
import { changeKeys, insertKey, remedyAgainstUnseenKey, textOfIssued } from './key-changes.js';

export const issue = command({
  usage: '--client NAME [--expires-in 90d] [--json]',
  summary: `makes a key, stores its hash and prints the key once; without --expires-in it never ends
      (${DURATION_UNITS})`,
  options: { client: TEXT, 'expires-in': TEXT, json: FLAG },
  run: async ({ client: name, 'expires-in': expiresIn }) => {
    const client = checkedClient(name);
    const lifetime = expiresIn === undefined ? null : parseDuration('--expires-in', expiresIn);
    const issued = await changeKeys({
      work: (database) => insertKey(database, { client, lifetime }),
      remedyIfUnknown: remedyAgainstUnseenKey('Then repeat the command.'),
    });
    const { id, key, expiresAt } = issued;
    return { text: textOfIssued('Key', issued), json: { id, client, key, expiresAt } };
  },
});

function checkedClient(name: string | undefined): string {
  if (!name) refuse('--client is missing: whose key is it? --client "Acme TMS"');
  const characters = invisibleCharactersOf(name);
  if (characters.length > 0) {
    refuse(`--client holds ${characters.join(', ')}, which nobody sees or types. Write the name anew.`);
  }
  return name;
}
