import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from 'pg';
import { issueKey } from '../administration/keys/keys.js';
import { hashApiKey } from '../auth/api-keys/api-key.js';
import { KEY_STATE } from '../auth/api-keys/key-state.js';

/** The interface document names no communication codes, so the demo loads samples that say so. The last one begins anew at each start. */
const SAMPLES = `
  insert into communication_code (code_type, code, description) values
    ('SAMPLE-APPOINTMENT', 'CONFIRMED', 'Sample: the consumer confirmed the appointment'),
    ('SAMPLE-APPOINTMENT', 'LEFT-MESSAGE', 'Sample: a message was left, the appointment is open'),
    ('SAMPLE-APPOINTMENT', 'NO-ANSWER', 'Sample: nobody answered the call'),
    ('SAMPLE-DELIVERY', 'CONFIRMED', 'Sample: the delivery window was confirmed'),
    ('SAMPLE-DELIVERY', 'RESCHEDULED', 'Sample: the delivery was moved to another day'),
    ('SAMPLE-USAGE', 'EMAIL', 'Sample: the code is used in messages by email')
  on conflict do nothing`;
const BEGINS_SOON = `
  insert into communication_code (code_type, code, description, valid_from) values
    ('SAMPLE-APPOINTMENT', 'BEGINS-SOON', 'Sample: began a few minutes after the start of the demo', date_trunc('minute', now()) + interval '4 minutes')
  on conflict (code_type, code) do update set valid_from = excluded.valid_from
  returning valid_from as at`;

/** Loads the samples. Returns the moment at which one of them begins to be served. */
export async function loadSamples(client: Client): Promise<Date> {
  await client.query(SAMPLES);
  const { rows } = await client.query<{ at: Date }>(BEGINS_SOON);
  return rows[0]?.at as Date;
}

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
