import { FLAG, TEXT, command } from '../frame/command.js';
import { DURATION_UNITS, parseDuration } from './duration.js';
import {
  LAST_MOMENT,
  changeKeys,
  insertKey,
  refuseUnknownId,
  remedyAgainstUnseenKey,
  textOfIssued,
} from './key-changes.js';
import { KEY_STATE } from './key-state.js';

interface FormerKey {
  readonly id: string;
  readonly client: string;
  /** From its creation to its end, as an interval; null for a key without an end. */
  readonly lifetime: string | null;
  readonly endsAt: Date;
}

/** Of two rotations at once the second waits for the first, and finds the key in another state. */
const SET_END = `
  update api_key set revoked_at = least(now() + $2::interval, '${LAST_MOMENT}')
  where id::text = lower($1) and ${KEY_STATE} = 'in force'
  returning id, client, (expires_at - created_at)::text as lifetime, least(revoked_at, expires_at) as "endsAt"`;

export const rotate = command({
  usage: 'KEY_ID [--overlap 7d] [--json]',
  operands: { least: 1, most: 1 },
  summary: `issues a second key of the same client and lifetime, and sets the first one's end (${DURATION_UNITS})`,
  options: { overlap: { ...TEXT, default: '7d' }, json: FLAG },
  run: ({ overlap }, [id]) => {
    const interval = parseDuration('--overlap', overlap);
    return changeKeys({
      work: async (database) => {
        const { rows } = await database.query<FormerKey>(SET_END, [id, interval]);
        const former = rows[0] ?? refuseUnknownId(', or it has ended, or is being rotated');
        const issued = await insertKey(database, former);
        const end = `The first one, ${former.id}, ends at ${former.endsAt.toISOString()}.`;
        const json = { ...issued, former: { id: former.id, endsAt: former.endsAt } };
        return { text: `${textOfIssued('Second key', issued)}\n${end}`, json };
      },
      // A second rotation of the first key would be refused
      remedyIfUnknown: remedyAgainstUnseenKey(
        'Then issue another one: the first key has its end. If no new key is there, repeat the command.',
      ),
    });
  },
});
