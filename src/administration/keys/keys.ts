import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { generateApiKey, hashApiKey } from '../../auth/api-keys/api-key.js';
import { AdministrationError } from '../frame/command.js';
import { withDatabase } from '../frame/connect.js';

/** The record of changes tells by this name what the key commands changed. */
export const KEYS_APPLICATION = 'order-lookup-keys';

const UNITS = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000, y: 31_536_000_000 };

/** The moment after a duration such as 90d; error messages name `option`. */
export function momentIn(option: string, duration: string): Date {
  const [, count, unit = ''] = /^([1-9]\d{0,4})([mhdwy])$/.exec(duration) ?? [];
  const moment = new Date(Date.now() + Number(count) * UNITS[unit as keyof typeof UNITS]);
  if (moment.getUTCFullYear() <= 9998) return moment;
  throw new AdministrationError(
    `${option} is "${duration}": a number and a unit are needed, such as 90d (m, h, d, w or y), and an end before the year 9999.`,
  );
}

/** Commits all of the work or nothing. */
export const changeKeys = <T>(work: (client: Client) => Promise<T>): Promise<T> =>
  withDatabase(async (client) => {
    // Whatever the connection string and the database say: of two rotations at once, the second one has to see the first
    await client.query(
      `begin isolation level read committed; set local application_name = '${KEYS_APPLICATION}'`,
    );
    const result = await work(client);
    await client.query('commit');
    return result;
  });

export interface NewKey {
  readonly id: string;
  readonly client: string;
  readonly key: string;
  /** RFC 3339, or null if it has no end. */
  readonly expiresAt: string | null;
}

/** Makes a key and stores its hash. */
export async function issueKey(database: Client, client: string, end?: Date): Promise<NewKey> {
  const [id, key, expiresAt] = [randomUUID(), generateApiKey(), end?.toISOString() ?? null];
  await database.query(
    `insert into api_key (id, client, key_hash, expires_at) values ($1, $2, decode($3, 'hex'), $4)`,
    [id, client, hashApiKey(key), expiresAt],
  );
  return { id, client, key, expiresAt };
}

export const describeKey = (title: string, { id, client, key, expiresAt }: NewKey): string =>
  `${title} of ${client}, shown this once:\n\n  ${key}\n\nIts id is ${id}; it ${expiresAt ? `expires at ${expiresAt}` : 'does not expire'}.`;
