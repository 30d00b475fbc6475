import { AdministrationError, command } from '../frame/command.js';
import { momentIn } from './duration.js';
import { describeKey, insertKey, newKey } from './issue.command.js';
import { changeKeys, endOf, lockKey } from './keys.js';

export const rotate = command({
  usage: 'KEY_ID [--overlap 7d] [--expires-in 90d] [--json]',
  summary: "issues a second key of the same client, and sets the first one's end",
  operands: [0, 1],
  options: {
    overlap: { type: 'string', default: '7d' },
    'expires-in': { type: 'string' },
    json: { type: 'boolean' },
  },
  run: ({ overlap, 'expires-in': expiresIn }, [id]) =>
    changeKeys(async (client) => {
      const former = await lockKey(client, id);
      if (former.state === 'ended' || former.state === 'expired')
        throw new AdministrationError(
          `The key ${former.id} ${endOf(former)}. Issue a new one: keys issue --client ${JSON.stringify(former.client)}`,
        );
      const second = newKey(former.client, expiresIn);
      await insertKey(client, second);
      const { rows } = await client.query<{ end: Date }>(
        `update api_key set revoked_at = least(revoked_at, $2) where id = $1 returning least(revoked_at, expires_at) as end`,
        [former.id, momentIn('--overlap', overlap)],
      );
      const endsAt = rows[0]?.end.toISOString();
      return {
        text: `${describeKey('Second key', second)}\nThe first one, ${former.id}, ends at ${endsAt}. It ${endOf(former)}.`,
        json: { ...second, former: { id: former.id, endsAt } },
      };
    }),
});
