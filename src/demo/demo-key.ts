import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from 'pg';
import { issueKey } from '../administration/keys/keys.js';
import { hashApiKey } from '../auth/api-keys/api-key.js';
import { KEY_STATE } from '../auth/api-keys/key-state.js';

/** The key of the client "demo". It stays the same from one start to the next, unless it was revoked. */
export async function demoKey(client: Client, data: string): Promise<string> {
  const file = join(data, 'api-key');
  const kept = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const { rowCount } = await client.query(
    `select from api_key where key_hash = decode($1, 'hex') and ${KEY_STATE} = 'in force'`,
    [hashApiKey(kept)],
  );
  if (rowCount) return kept;
  const issued = await issueKey(client, 'demo');
  writeFileSync(file, issued.key, { mode: 0o600 });
  return issued.key;
}
