import { command } from '../frame/command.js';
import { changeKeys, refuseUnknownId } from './key-changes.js';

interface RevokedKey {
  readonly id: string;
  readonly client: string;
  readonly revokedAt: Date;
}

/** The first end counts: a key that has ended keeps its moment. */
const REVOKE = `
  update api_key set revoked_at = least(revoked_at, now()) where id::text = lower($1)
  returning id, client, revoked_at as "revokedAt"`;

export const revoke = command({
  usage: 'KEY_ID',
  operands: { least: 1, most: 1 },
  summary: 'ends a key now, also one whose end is set for later',
  run: (_values, [id]) =>
    changeKeys({
      work: async (database) => {
        const { rows } = await database.query<RevokedKey>(REVOKE, [id]);
        const key = rows[0] ?? refuseUnknownId();
        const moment = key.revokedAt.toISOString();
        return { text: `The key ${key.id} of ${key.client} is revoked since ${moment}.` };
      },
      remedyIfUnknown: 'Repeat the command: a key that has ended keeps its moment.',
    }),
});
