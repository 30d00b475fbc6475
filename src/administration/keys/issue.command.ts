import { randomUUID } from 'node:crypto';
import { type Client, escapeLiteral } from 'pg';
import { generateApiKey, hashApiKey } from '../../auth/api-keys/api-key.js';
import { AdministrationError, command } from '../frame/command.js';
import { momentIn } from './duration.js';
import { changeKeys } from './keys.js';

export interface NewKey {
  readonly id: string;
  readonly client: string;
  readonly key: string;
  readonly expiresAt: string | null;
}

export const newKey = (client: string, expiresIn: string | undefined): NewKey => ({
  id: randomUUID(),
  client,
  key: generateApiKey(),
  expiresAt: expiresIn === undefined ? null : momentIn('--expires-in', expiresIn),
});

export const insertKey = (database: Client, { id, client, key, expiresAt }: NewKey) =>
  database.query(
    `insert into api_key (id, client, key_hash, expires_at) values ($1, $2, decode($3, 'hex'), $4)`,
    [id, client, hashApiKey(key), expiresAt],
  );

export const describeKey = (title: string, { id, client, key, expiresAt }: NewKey): string =>
  `${title} of ${client}, shown this once:\n\n  ${key}\n\nIts id is ${id}; it ${expiresAt ? `expires at ${expiresAt}` : 'does not expire'}.`;

export const issue = command({
  usage: '--client NAME [--expires-in 90d] [--json | --sql]',
  summary: 'makes a key, stores its hash and prints the key once',
  options: {
    client: { type: 'string' },
    'expires-in': { type: 'string' },
    json: { type: 'boolean' },
    sql: { type: 'boolean' },
  },
  async run({ client: name = '', 'expires-in': expiresIn, json, sql }) {
    if (name.trim() !== name || name === '' || name.length > 128 || /\p{Cc}/u.test(name))
      throw new AdministrationError(
        '--client is missing or not a name: give the client that the key is for, 1 to 128 characters, such as --client "Acme TMS".',
      );
    if (json && sql)
      throw new AdministrationError('--json and --sql exclude each other: choose one.');
    const issued = newKey(name, expiresIn);
    const { id, key, expiresAt } = issued;
    if (sql) {
      process.stderr.write(`Key of ${name}, shown this once: ${key}\n`);
      const expiry = expiresAt === null ? 'null' : escapeLiteral(expiresAt);
      return {
        text: `insert into api_key (id, client, key_hash, expires_at) values ('${id}', ${escapeLiteral(name).trimStart()}, '\\x${hashApiKey(key)}', ${expiry});`,
      };
    }
    await changeKeys((client) => insertKey(client, issued));
    return { text: describeKey('Key', issued), json: issued };
  },
});
