import type { Client } from 'pg';
import { KEY_LENGTH, hasValidChecksum, hashApiKey } from '../../auth/api-keys/api-key.js';
import { KEY_STATE, type KeyState } from '../../auth/api-keys/key-state.js';
import { type Finding, fault, ok } from './finding.js';

const SUBJECT = 'API key';

/** Checks whether a key is known and in force, and gives the reason if not. The service itself never tells a caller the reason. */
export async function examineKey(key: string, client: Client): Promise<Finding> {
  const { rows } = await client.query<{
    id: string;
    client: string;
    state: KeyState;
  }>(`select id, client, ${KEY_STATE} as state from api_key where key_hash = decode($1, 'hex')`, [
    hashApiKey(key),
  ]);
  const [row] = rows;
  if (!row && !hasValidChecksum(key))
    return fault(
      SUBJECT,
      'its checksum does not fit: it is mistyped or cut',
      `Copy the whole key: ${KEY_LENGTH} characters.`,
    );
  if (!row)
    return fault(
      SUBJECT,
      'it is not in this database',
      'Check DATABASE_URL, or issue one: keys issue --client NAME',
    );
  const whose = `${row.id} of ${row.client}`;
  const remedy = 'Issue another: keys issue --client NAME';
  if (row.state === 'ended') return fault(SUBJECT, `${whose} was revoked`, remedy);
  return row.state === 'expired'
    ? fault(SUBJECT, `${whose} has expired`, remedy)
    : ok(SUBJECT, `${whose} is in force`);
}
