import type { Client } from 'pg';
import { KEY_STATE, type KeyState } from '../../auth/api-keys/key-state.js';
import { AdministrationError } from '../frame/command.js';
import { withDatabase } from '../frame/connect.js';

/** The record of changes tells by this name what the key commands changed. */
export const KEYS_APPLICATION = 'order-lookup-keys';

/** Commits all of the work or nothing. */
export const changeKeys = <T>(work: (client: Client) => Promise<T>): Promise<T> =>
  withDatabase(async (client) => {
    // For this transaction only, and whatever the connection string says
    await client.query(`begin; set local application_name = '${KEYS_APPLICATION}'`);
    const result = await work(client);
    await client.query('commit');
    return result;
  });

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export interface KeyRow {
  readonly id: string;
  readonly client: string;
  readonly state: KeyState;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}

export const KEY_COLUMNS = `id, client, ${KEY_STATE} as state, created_at as "createdAt", expires_at as "expiresAt", revoked_at as "revokedAt"`;

/** Reads the key and locks its row until the end of the transaction. */
export async function lockKey(client: Client, id = ''): Promise<KeyRow> {
  if (!UUID.test(id))
    throw new AdministrationError(
      'The id of the key is missing or not one: keys list shows the ids.',
    );
  const { rows } = await client.query<KeyRow>(
    `select ${KEY_COLUMNS} from api_key where id = $1 for update`,
    [id],
  );
  if (!rows[0])
    throw new AdministrationError(`There is no key with the id ${id}: keys list shows the ids.`);
  return rows[0];
}

/** When the key ends or ended: the part of a sentence that follows "it". */
export function endOf({ state, expiresAt, revokedAt }: KeyRow): string {
  if (state === 'ended') return `was revoked at ${revokedAt?.toISOString()} already`;
  if (state === 'expired') return `had expired at ${expiresAt?.toISOString()}`;
  if (state === 'ends') return `was to end at ${revokedAt?.toISOString()}`;
  return expiresAt ? `was to expire at ${expiresAt.toISOString()}` : 'had no end';
}
