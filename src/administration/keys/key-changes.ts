import type { Client } from 'pg';
import { generateApiKey, hashApiKey } from '../../auth/api-keys/api-key.js';
import { KEYS_APPLICATION } from '../applications.js';
import { AdministrationError, refuse, typed } from '../frame/command.js';
import { UnknownCommit } from '../frame/commit.js';
import { withWriting } from '../frame/connect.js';

/** A key as it is printed once. Its hash alone is stored. */
export interface IssuedKey {
  readonly id: string;
  readonly client: string;
  readonly key: string;
  readonly expiresAt: Date | null;
}

interface NewKey {
  readonly client: string;
  /** An interval of PostgreSQL, or null for a key without an end. */
  readonly lifetime: string | null;
}

/** The latest end that a row may have. */
export const LAST_MOMENT = '9999-12-31Z';

interface KeyChange<T> {
  readonly work: (client: Client) => Promise<T>;
  /** What to do where nobody knows whether the change counts. */
  readonly remedyIfUnknown: string;
}

/** Changes keys in one transaction, under the name by which the record of changes knows these commands. */
export async function changeKeys<T>({ work, remedyIfUnknown }: KeyChange<T>): Promise<T> {
  try {
    return await withWriting(async (client) => {
      await client.query(`set local application_name = '${KEYS_APPLICATION}'`);
      return work(client);
    });
  } catch (error) {
    if (!(error instanceof UnknownCommit)) throw error;
    throw new AdministrationError(`${error.message} ${remedyIfUnknown}`);
  }
}

/** Against a key that is stored, perhaps, and whose text was not shown. */
export function remedyAgainstUnseenKey(remedy: string): string {
  return `See ${typed('keys', 'list')}: if the new key is there, revoke it, since its text was not shown. ${remedy}`;
}

export async function insertKey(database: Client, { client, lifetime }: NewKey): Promise<IssuedKey> {
  const key = generateApiKey();
  const { rows } = await database.query<Omit<IssuedKey, 'key'>>(
    `insert into api_key (client, key_hash, expires_at)
     values ($1, decode($2, 'hex'),
       case when $3::interval is not null then least(now() + $3::interval, '${LAST_MOMENT}') end)
     returning id, client, expires_at as "expiresAt"`,
    [client, hashApiKey(key), lifetime],
  );
  const [row] = rows;
  if (!row) throw new Error('PostgreSQL returned no row of the new key');
  return { ...row, key };
}

/** @param title `Key` or `Second key` */
export function textOfIssued(title: string, { id, client, key, expiresAt }: IssuedKey): string {
  const end = expiresAt ? `expires at ${expiresAt.toISOString()}` : 'never ends';
  return `${title} of ${client}, shown this once:\n\n  ${key}\n\nIts id is ${id}; it ${end}.`;
}

/** No message repeats the word of the command line: it could be a key. */
export function refuseUnknownId(otherReasons = ''): never {
  refuse(`There is no key of this id${otherReasons}. To see the ids: ${typed('keys', 'list')}`);
}
