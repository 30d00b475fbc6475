import type { Client } from 'pg';
import { hasValidChecksum, hashApiKey } from '../../auth/api-keys/api-key.js';
import { commandLine } from '../cli/program.js';
import { KEY_STATE } from '../keys.js';
import { type Finding, fault, ok } from './finding.js';

export const API_KEY_REMEDY = `Copy the whole key, or issue one: ${commandLine('keys', 'issue --client NAME')}`;

const FIND_KEY = `
  select id::text, client, ${KEY_STATE} as state from public.api_key where key_hash = decode($1, 'hex')`;

interface FoundKey {
  readonly id: string;
  readonly client: string;
  readonly state: string;
}

/** No text holds a byte of the key. */
export async function examineApiKey(client: Client, key: string): Promise<Finding> {
  const { rows } = await client.query<FoundKey>(FIND_KEY, [hashApiKey(key)]);
  const [found] = rows;
  if (!found && !hasValidChecksum(key)) return fault('its checksum does not fit: it is mistyped or cut');
  if (!found) return fault('it is not in this database');
  const name = `${found.id} of ${found.client}`;
  if (found.state === 'expired' || found.state === 'revoked') return fault(`${name} is ${found.state}`);
  return ok(`${name} is in force`);
}
