import type { Client } from 'pg';
import { generateApiKey, hashApiKey } from '../../auth/api-keys/api-key.js';
import { KEYS_APPLICATION } from '../applications.js';
import { CliError, commandLine } from '../cli/program.js';
import { withWriting } from '../cli/transaction.js';

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

/** Changes keys in one transaction, under the name by which the change history knows these commands. */
export function changeKeys<T>(work: (session: Client) => Promise<T>): Promise<T> {
  return withWriting(async (session) => {
    await session.query(`set local application_name = '${KEYS_APPLICATION}'`);
    return work(session);
  });
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
export function unknownId(otherReasons = ''): CliError {
  return new CliError(`There is no key of this id${otherReasons}. To see the ids: ${commandLine('keys', 'list')}`);
}
