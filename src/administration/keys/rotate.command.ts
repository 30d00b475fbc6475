import { AdministrationError, command } from '../frame/command.js';
import {
  type KeyRow,
  changeKeys,
  describeKey,
  endOf,
  issueKey,
  lockKey,
  momentIn,
} from './keys.js';

export const rotate = command({
  usage: 'KEY_ID [--overlap 7d] [--expires-in 90d] [--json]',
  summary: "issues a second key of the same client and lifetime, and sets the first one's end",
  operands: [1, 1],
  options: {
    overlap: { type: 'string', default: '7d' },
    'expires-in': { type: 'string' },
    json: { type: 'boolean' },
  },
  run: ({ overlap, 'expires-in': expiresIn }, [id]) =>
    changeKeys(async (client) => {
      const former = await lockKey(client, id);
      if (former.state !== 'in force')
        throw new AdministrationError(
          `The key ${former.id} ${endOf(former)}${former.state === 'ends' ? ' and is being rotated: keys list shows the second one' : ''}. To issue another: keys issue --client ${JSON.stringify(former.client)}`,
        );
      const end = expiresIn === undefined ? sameEnd(former) : momentIn('--expires-in', expiresIn);
      const second = await issueKey(client, former.client, end);
      const { rows } = await client.query<{ end: Date }>(
        `update api_key set revoked_at = $2 where id = $1 returning least(revoked_at, expires_at) as end`,
        [former.id, momentIn('--overlap', overlap)],
      );
      const endsAt = rows[0]?.end.toISOString();
      return {
        text: `${describeKey('Second key', second)}\nThe first one, ${former.id}, ends at ${endsAt}. It ${endOf(former)}.`,
        json: { ...second, former: { id: former.id, endsAt } },
      };
    }),
});

const LAST_END = Date.UTC(9998, 11, 31);

/** The end of a key that begins now and lives as long as this one; undefined if it has no end. */
const sameEnd = ({ createdAt, expiresAt }: KeyRow): Date | undefined =>
  expiresAt ? new Date(Math.min(Date.now() + +expiresAt - +createdAt, LAST_END)) : undefined;
