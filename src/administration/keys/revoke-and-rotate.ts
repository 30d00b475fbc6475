import type { Client } from 'pg';
import { KEY_STATE, type KeyState } from '../../auth/api-keys/key-state.js';
import { AdministrationError, command } from '../frame/command.js';
import { changeKeys, describeKey, issueKey, momentIn } from './keys.js';

interface LockedKey {
  readonly id: string;
  readonly client: string;
  readonly state: KeyState;
  /** Expiry or revocation, whichever is first; null if it has no end. */
  readonly end: Date | null;
  /** The expiry of a key that begins now and lives as long as this one. */
  readonly sameExpiry: Date | null;
}

/** Reads the key and locks its row until the end of the transaction. */
async function lockKey(client: Client, id = ''): Promise<LockedKey> {
  const { rows } = await client.query<LockedKey>(
    `select id, client, ${KEY_STATE} as state, least(revoked_at, expires_at) as "end",
      case when expires_at is not null then least(now() + (expires_at - created_at), '9998-12-31Z') end as "sameExpiry"
     from api_key where id::text = lower($1) for update`,
    [id],
  );
  // The word is not repeated: it could be a key
  if (!rows[0])
    throw new AdministrationError('There is no key of this id: keys list shows the ids.');
  return rows[0];
}

export const revoke = command({
  usage: 'KEY_ID',
  summary: 'ends a key now, also one whose end is set for later',
  operands: [1, 1],
  run: (_values, [word]) =>
    changeKeys(async (client) => {
      const { id, state, end } = await lockKey(client, word);
      if (state === 'ended')
        return { text: `The key ${id} ended at ${end?.toISOString()} already.` };
      await client.query('update api_key set revoked_at = now() where id = $1', [id]);
      const told = end ? `Its end was set for ${end.toISOString()}.` : 'It had no end.';
      return { text: `The key ${id} is revoked. ${told}` };
    }),
});

export const rotate = command({
  usage: 'KEY_ID [--overlap 7d] [--expires-in 90d] [--json]',
  summary: "issues a second key of the same client and lifetime, and sets the first one's end",
  operands: [1, 1],
  options: {
    overlap: { type: 'string', default: '7d' },
    'expires-in': { type: 'string' },
    json: { type: 'boolean' },
  },
  run: ({ overlap, 'expires-in': expiresIn }, [word]) =>
    changeKeys(async (client) => {
      const { id, client: name, state, end, sameExpiry } = await lockKey(client, word);
      if (state !== 'in force')
        throw new AdministrationError(
          `The key ${id} ${state === 'ends' ? 'is being rotated and ends' : 'ended'} at ${end?.toISOString()}. To issue another: keys issue --client ${JSON.stringify(name)}`,
        );
      const expiry = expiresIn === undefined ? sameExpiry : momentIn('--expires-in', expiresIn);
      const second = await issueKey(client, name, expiry ?? undefined);
      const { rows } = await client.query<{ end: Date }>(
        `update api_key set revoked_at = $2 where id = $1 returning least(revoked_at, expires_at) as "end"`,
        [id, momentIn('--overlap', overlap)],
      );
      const endsAt = rows[0]?.end.toISOString();
      return {
        text: `${describeKey('Second key', second)}\nThe first one, ${id}, ends at ${endsAt}.`,
        json: { ...second, former: { id, endsAt } },
      };
    }),
});
