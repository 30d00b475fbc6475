import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { DEMO_APPLICATION, KEYS_APPLICATION } from '../administration/applications.js';
import { withWriting } from '../administration/cli/transaction.js';
import { applyPending } from '../administration/migrate/run-migrations.js';
import { generateApiKey, hashApiKey } from '../auth/api-keys/api-key.js';
import { startService } from '../bootstrap/start-service.js';
import type { Configuration } from '../configuration/configuration.js';
import { readConfiguration } from '../configuration/read-configuration.js';
import { StartError } from '../configuration/start-error.js';
import { DATA, foldersToDelete, prepareDataFolder } from './demo-folder.js';
import { lockDemo } from './demo-lock.js';
import { DemoPostgres } from './demo-postgres.js';
import type { Ending } from './ending.js';
import { startIssuer } from './issuer.js';
import { type Kept, keep, save } from './kept.js';
import { readKept, writeKept } from './kept-files.js';
import { VARIABLES, welcome } from './welcome.js';

const OAUTH_AUDIENCE = 'https://orders.demo.example';
const CLIENT_ID = 'demo-program';

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

/**
 * Starts database, issuer and service, and prints how to use them.
 * @param ending is told what has to be ended with the demo
 * @throws StartError that says what is wrong and how to mend it
 */
export async function startDemo(ending: Ending): Promise<void> {
  removeVariablesOfPostgres();
  prepareDataFolder();
  await lockDemo();
  const postgres = await DemoPostgres.create();
  await postgres.endOrphan(); // before the ports are taken, since it may have one of them
  const { kept, release } = await keep(process.env);
  const databaseUrl = postgres.urlAt(kept.DATABASE_PORT);
  const settings = readConfiguration(environmentOf(databaseUrl, kept)); // checked before anything is started
  const starting = postgres.start(kept.DATABASE_PORT, () => release('DATABASE_PORT'));
  await ending.start(starting, postgres);
  const key = await prepareDatabase(databaseUrl);

  await release('ISSUER_PORT');
  const issuer = await startIssuerOfDemo(kept, settings);
  ending.add(() => issuer.close());

  const service = await startService(settings, async () => {
    await release('PORT');
    await release('MANAGEMENT_PORT');
  });
  ending.add(() => service.stop());
  save(kept);

  while ((await fetch(`${service.managementUrl}/health/ready`)).status !== 200) await pause(20);
  const issuerUrl = issuerUrlOf(kept);
  const token = await fetchToken(issuerUrl, kept.secret, settings.OAUTH_REQUIRED_SCOPE);
  const url = service.url + settings.BASE_PATH;
  const variables = variablesOf({
    API: url,
    KEY: key,
    TOKEN: token,
    CLIENT_ID,
    CLIENT_SECRET: kept.secret,
    DATABASE_URL: databaseUrl,
    OAUTH_ISSUER: issuerUrl,
    OAUTH_AUDIENCE,
  });
  writeKept(join(DATA, VARIABLES), variables);
  const folders = foldersToDelete();
  process.stdout.write(welcome({ ...service, folders, url, issuerUrl, databaseUrl, key, variables }));
}

/** PGHOST, PGOPTIONS and the like of another project would change each session of this process. */
function removeVariablesOfPostgres(): void {
  for (const name of Object.keys(process.env)) if (name.startsWith('PG')) delete process.env[name];
}

/** The environment of the service. Only 127.0.0.1 and our issuer are used, whatever a shell exports. */
function environmentOf(databaseUrl: string, kept: Kept): NodeJS.ProcessEnv {
  return {
    ...process.env,
    HOST: '127.0.0.1',
    PORT: `${kept.PORT}`,
    MANAGEMENT_HOST: '',
    MANAGEMENT_PORT: `${kept.MANAGEMENT_PORT}`,
    LOG_LEVEL: process.env['LOG_LEVEL'] || 'warn',
    DATABASE_URL: databaseUrl,
    OAUTH_ISSUER: issuerUrlOf(kept),
    OAUTH_JWKS_URI: '',
    OAUTH_AUDIENCE,
  };
}

function issuerUrlOf({ ISSUER_PORT }: Kept): string {
  return `http://127.0.0.1:${ISSUER_PORT}`;
}

/** Applies the migrations, and loads samples and the key. Gives the key. */
async function prepareDatabase(databaseUrl: string): Promise<string> {
  const address = { DATABASE_URL: databaseUrl };
  try {
    await applyPending(address);
  } catch (error) {
    throw new StartError(
      `${(error as Error).message}\nThe data of the demo may be that of another branch: go back to it, or delete ` +
        `${foldersToDelete()} to start afresh.`,
    );
  }
  return withWriting(loadSamplesAndKey, address);
}

/** The key of the client "demo" stays the same from one start to the next, and is in force again if it was revoked. */
async function loadSamplesAndKey(client: Client): Promise<string> {
  await client.query(`set application_name = '${DEMO_APPLICATION}'; ${SAMPLES}`);
  const file = join(DATA, 'api-key');
  const lastKey = readKept(file);
  const key = lastKey || generateApiKey();
  if (key !== lastKey) writeKept(file, key);
  await client.query(`set application_name = '${KEYS_APPLICATION}'`);
  await client.query(
    `insert into api_key as present (client, key_hash) values ('demo', decode($1, 'hex'))
     on conflict (key_hash) do update set revoked_at = null, expires_at = null
     where present.revoked_at is not null or present.expires_at is not null`,
    [hashApiKey(key)],
  );
  return key;
}

function startIssuerOfDemo(kept: Kept, { BASE_PATH, OAUTH_REQUIRED_SCOPE }: Configuration) {
  const documentation = ['127.0.0.1', 'localhost'].map(
    (host) => `http://${host}:${kept.PORT}${BASE_PATH}/docs/oauth2-redirect.html`,
  );
  return startIssuer({
    url: issuerUrlOf(kept),
    port: kept.ISSUER_PORT,
    host: '127.0.0.1',
    audience: OAUTH_AUDIENCE,
    scopes: OAUTH_REQUIRED_SCOPE,
    machine: { id: CLIENT_ID, secret: kept.secret },
    redirectUris: documentation,
    keyFile: join(DATA, 'issuer-key.json'),
  });
}

/** By the client credentials grant, as programs get theirs. */
async function fetchToken(issuerUrl: string, secret: string, scope: string): Promise<string> {
  const body = new URLSearchParams({ grant_type: 'client_credentials' });
  if (scope) body.set('scope', scope);
  const headers = { Authorization: `Basic ${btoa(`${CLIENT_ID}:${secret}`)}` };
  const response = await fetch(`${issuerUrl}/token`, { method: 'POST', headers, body });
  if (!response.ok) throw new StartError(`The issuer of the demo gives no token: ${await response.text()}`);
  const { access_token: token } = (await response.json()) as { access_token: string };
  return token;
}

/** Lines that set the variables in a shell. */
function variablesOf(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `export ${name}='${value}'\n`)
    .join('');
}
