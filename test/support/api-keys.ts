import { generateApiKey, hashApiKey } from '../../src/auth/api-keys/api-key.js';
import type { TestDatabase } from './database.js';

export interface IssuedKey {
  readonly id: string;
  readonly key: string;
}

/** Issues an API key by plain SQL. `created_at` is a day ago, so `expires_at` can be after it and have passed. */
export async function issueKey(
  database: TestDatabase,
  {
    client = 'test',
    expiresAt = null as string | null,
    revokedAt = null as string | null,
    key = generateApiKey(),
  } = {},
): Promise<IssuedKey> {
  const [row] = await database.query<{ id: string }>(
    `insert into api_key (client, key_hash, created_at, expires_at, revoked_at)
       values ($1, decode($2, 'hex'), now() - interval '1 day', $3, $4) returning id`,
    [client, hashApiKey(key), expiresAt, revokedAt],
  );
  return { id: row?.id ?? '', key };
}
