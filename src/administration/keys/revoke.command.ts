import { command } from '../frame/command.js';
import { changeKeys, endOf, lockKey } from './keys.js';

export const revoke = command({
  usage: 'KEY_ID',
  summary: 'ends a key now, also one whose end is set for later',
  operands: [1, 1],
  run: (_values, [id]) =>
    changeKeys(async (client) => {
      const before = await lockKey(client, id);
      if (before.state === 'ended') return { text: `The key ${before.id} ${endOf(before)}.` };
      await client.query('update api_key set revoked_at = now() where id = $1', [before.id]);
      return { text: `The key ${before.id} is revoked. It ${endOf(before)}.` };
    }),
});
