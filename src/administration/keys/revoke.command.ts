import { AdministrationError } from '../frame/administration-error.js';
import { command } from '../frame/command.js';
import { withDatabase } from '../frame/connect.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const revoke = command({
  usage: 'KEY_ID',
  summary: 'ends a key now',
  operands: [0, 1],
  async run(_values, [id = '']) {
    if (!UUID.test(id))
      throw new AdministrationError(
        'The id of the key is missing or not one: keys list shows the ids.',
      );
    return withDatabase(async (client) => {
      const { rowCount } = await client.query(
        'update api_key set revoked_at = now() where id = $1 and revoked_at is null',
        [id],
      );
      if (rowCount) return { text: `The key ${id} is revoked.` };
      const { rows } = await client.query<{ revoked_at: Date | null }>(
        'select revoked_at from api_key where id = $1',
        [id],
      );
      if (!rows[0])
        throw new AdministrationError(
          `There is no key with the id ${id}: keys list shows the ids.`,
        );
      return { text: `The key ${id} was revoked at ${rows[0].revoked_at?.toISOString()} already.` };
    });
  },
});
