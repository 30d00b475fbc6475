import { AdministrationError, command } from '../frame/command.js';
import { changeKeys, describeKey, issueKey, momentIn } from './keys.js';

export const issue = command({
  usage: '--client NAME [--expires-in 90d] [--json]',
  summary: 'makes a key, stores its hash and prints the key once',
  options: {
    client: { type: 'string' },
    'expires-in': { type: 'string' },
    json: { type: 'boolean' },
  },
  async run({ client: name = '', 'expires-in': expiresIn }) {
    if (name.trim() !== name || name === '' || name.length > 128 || /\p{Cc}/u.test(name))
      throw new AdministrationError(
        '--client is missing or not a name: give the client that the key is for, 1 to 128 characters, such as --client "Acme TMS".',
      );
    const end = expiresIn === undefined ? undefined : momentIn('--expires-in', expiresIn);
    const issued = await changeKeys((client) => issueKey(client, name, end));
    return { text: describeKey('Key', issued), json: issued };
  },
});
