import { KEY_STATE, type KeyState } from '../../auth/api-keys/key-state.js';
import { AdministrationError, command } from '../frame/command.js';
import { withDatabase } from '../frame/connect.js';
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

interface ListedKey {
  readonly id: string;
  readonly client: string;
  readonly state: KeyState;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly lastUsedAt: Date | null;
}

export const list = command({
  usage: '[--expiring 30d] [--json]',
  summary: 'shows all keys, or those that end within a time: state, creation, expiry and last use',
  options: { expiring: { type: 'string' }, json: { type: 'boolean' } },
  async run({ expiring }) {
    const until = expiring === undefined ? null : momentIn('--expiring', expiring);
    const { rows } = await withDatabase((client) =>
      client.query<ListedKey>(
        `select id, client, ${KEY_STATE} as state, created_at as "createdAt", expires_at as "expiresAt", revoked_at as "revokedAt", last_used_at as "lastUsedAt"
         from api_key left join api_key_use on key_id = id
         where $1::timestamptz is null or (least(expires_at, revoked_at) > now() and least(expires_at, revoked_at) <= $1)
         order by client, created_at`,
        [until],
      ),
    );
    return { text: rows.map(lineOf).join('\n') || 'There are none.', json: rows };
  },
});

function lineOf({
  id,
  client,
  state,
  createdAt,
  expiresAt,
  revokedAt,
  lastUsedAt,
}: ListedKey): string {
  const until = state === 'ends' ? `ends ${revokedAt?.toISOString()}` : state;
  const expiry = expiresAt ? `expires ${expiresAt.toISOString()}` : 'no expiry';
  const use = lastUsedAt ? `used ${lastUsedAt.toISOString()}` : 'never used';
  return `${id}  ${until.padEnd(29)}  created ${createdAt.toISOString()}  ${expiry.padEnd(32)}  ${use.padEnd(29)}  ${client}`;
}
