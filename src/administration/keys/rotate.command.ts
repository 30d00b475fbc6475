import { Command } from 'commander';
import { print, printJson } from '../cli/program.js';
import { DURATION_UNITS, parseDuration } from './duration.js';
import { LAST_MOMENT, changeKeys, insertKey, textOfIssued, unknownId } from './key-changes.js';
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

interface RotateOptions {
  readonly overlap: string;
  readonly json?: true;
}

export const rotate = new Command('rotate')
  .description("issues a second key of the same client and lifetime, and sets the first one's end")
  .argument('<KEY_ID>')
  .option('--overlap <TIME>', `until the first one ends (${DURATION_UNITS})`, '7d')
  .option('--json', 'print it for programs')
  .action(async (id: string, { overlap, json }: RotateOptions) => {
    const { issued, former } = await rotateKey(id, overlap);
    if (json) printJson({ ...issued, former: { id: former.id, endsAt: former.endsAt } });
    else {
      const end = `The first one, ${former.id}, ends at ${former.endsAt.toISOString()}.`;
      print(`${textOfIssued('Second key', issued)}\n${end}`);
    }
  });

export function rotateKey(id: string, overlap: string) {
  const interval = parseDuration('--overlap', overlap);
  return changeKeys(async (session) => {
    const { rows } = await session.query<FormerKey>(SET_END, [id, interval]);
    const [former] = rows;
    if (!former) throw unknownId(', or it has ended, or is being rotated');
    return { issued: await insertKey(session, former), former };
  });
}
