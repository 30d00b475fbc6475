// The commands of API keys. All moments are those of the database's clock.
import type { Client } from 'pg';
import { generateApiKey, hashApiKey } from '../../auth/api-keys/api-key.js';
import { FLAG, TEXT, command, refuse, typed } from '../frame/command.js';
import { columnOf, withDatabase, withWriting } from '../frame/connect.js';

/** The record of changes tells by this name what the key commands changed. */
export const KEYS_APPLICATION = 'order-lookup-keys';
/** The state of a row of `api_key` as SQL, by the clock of the database, as ApiKeysService judges the keys that it holds: `ends` is in force until it is revoked. */
export const KEY_STATE = `case when revoked_at <= now() then 'ended' when expires_at <= now() then 'expired'
  when revoked_at is not null then 'ends' else 'in force' end`;
const REVOKE = `update api_key set revoked_at = least(revoked_at, now()) where id::text = lower($1)
  returning format('The key %s of %s is revoked since %s.', id, client, to_char(revoked_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`;

const changeKeys = <T>(work: (client: Client) => Promise<T>): Promise<T> =>
  withWriting(async (client) => {
    await client.query(`set local application_name = '${KEYS_APPLICATION}'`);
    return work(client);
  });

/** No message repeats the word of a caller: it could be a key. */
const refuseId = (others = ''): never =>
  refuse(`There is no key of this id${others}. To see the ids: ${typed('keys', 'list')}`);

/** Such as 90d: PostgreSQL takes it for an interval. */
function duration(text?: string): string | undefined {
  if (text === undefined || /^[1-9]\d{0,3}[mhdwy]$/.test(text)) return text;
  return refuse(`"${text}" is no duration such as 90d: the units are m, h, d, w and y.`);
}

/** Makes a key, which ends after an interval or not at all, and stores its hash. */
async function issueKey(database: Client, title: string, client: string, lifetime?: string | null) {
  const key = generateApiKey();
  const { rows } = await database.query<{ id: string; expiresAt: Date | null }>(
    `insert into api_key (client, key_hash, expires_at)
     values ($1, decode($2, 'hex'), case when $3::interval is not null then least(now() + $3::interval, '9999-12-31Z') end)
     returning id, client, expires_at as "expiresAt"`,
    [client, hashApiKey(key), lifetime],
  );
  const { id, expiresAt } = rows[0] ?? {};
  const end = expiresAt ? `expires at ${expiresAt.toISOString()}` : 'never ends';
  const text = `${title} of ${client}, shown this once:\n\n  ${key}\n\nIts id is ${id}; it ${end}.`;
  return { text, json: { ...rows[0], key } };
}

export const issue = command({
  usage: '--client NAME [--expires-in 90d] [--json]',
  summary: 'makes a key, stores its hash and prints the key once',
  options: { client: TEXT, 'expires-in': TEXT, json: FLAG },
  run: async ({ client: name, 'expires-in': expiresIn }) => {
    if (!name) refuse('--client is missing: whose key is it? --client "Acme TMS"');
    return changeKeys((client) => issueKey(client, 'Key', name, duration(expiresIn)));
  },
});

export const list = command({
  usage: '[--client NAME] [--expiring 30d] [--json]',
  summary: 'shows all keys, those of a client, or those that end within a time, and their last use',
  options: { client: TEXT, expiring: TEXT, json: FLAG },
  run: ({ client: name, expiring }) =>
    withDatabase(async (client) => {
      const { rows } = await client.query<Key>(
        `select id, client, ${KEY_STATE} as state, created_at as "createdAt", expires_at as "expiresAt", revoked_at as "revokedAt", least(expires_at, revoked_at) as "endsAt",
           last_used_at as "lastUsedAt" from api_key left join api_key_use on key_id = id
         where client = coalesce($2, client) and ($1::interval is null or least(expires_at, revoked_at) between now() and now() + $1)
         order by client, created_at`,
        [duration(expiring), name],
      );
      const lines = [HEADER, ...rows.map(lineOf)];
      return { text: rows.length > 0 ? lines.join('\n') : 'There are none.', json: rows };
    }),
});

type Key = Record<'id' | 'client' | 'state', string> &
  Record<'createdAt' | 'endsAt' | 'lastUsedAt', Date | null>;
const HEADER =
  'id                                    state     created                   ends                      used                      client';
const shown = (moment: Date | null): string => (moment?.toISOString() ?? 'never').padEnd(24);
const lineOf = ({ id, state, createdAt, endsAt, lastUsedAt, client }: Key): string =>
  [id, state.padEnd(8), shown(createdAt), shown(endsAt), shown(lastUsedAt), client].join('  ');

export const revoke = command({
  usage: 'KEY_ID',
  operands: { least: 1, most: 1 },
  summary: 'ends a key now, also one whose end is set for later',
  run: (_values, [word]) =>
    changeKeys(async (client) => {
      const [text] = await columnOf(client, REVOKE, [word]);
      return { text: text ?? refuseId() };
    }),
});

export const rotate = command({
  usage: 'KEY_ID [--overlap 7d] [--json]',
  operands: { least: 1, most: 1 },
  summary: "issues a second key of the same client and lifetime, and sets the first one's end",
  options: { overlap: { ...TEXT, default: '7d' }, json: FLAG },
  run: ({ overlap }, [word]) =>
    changeKeys(async (client) => {
      type Rotated = { id: string; client: string; lifetime: string | null; endsAt: Date };
      const { rows } = await client.query<Rotated>(
        `update api_key set revoked_at = least(now() + $2::interval, '9999-12-31Z') where id::text = lower($1) and ${KEY_STATE} = 'in force'
         returning id, client, (expires_at - created_at)::text as lifetime, least(revoked_at, expires_at) as "endsAt"`,
        [word, duration(overlap)],
      );
      const former = rows[0] ?? refuseId(', or it has ended, or is being rotated');
      const { id, client: name, lifetime, endsAt } = former;
      const { text, json } = await issueKey(client, 'Second key', name, lifetime);
      const end = `The first one, ${id}, ends at ${endsAt.toISOString()}.`;
      return { text: `${text}\n${end}`, json: { ...json, former: { id, endsAt } } };
    }),
});
