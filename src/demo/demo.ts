import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { generateApiKey } from '../auth/api-keys/api-key.js';
import type { Service } from '../bootstrap/start-service.js';
import type { Configuration } from '../configuration/configuration.js';
import { exemptFromProxy } from '../configuration/loopback.js';
import { readConfiguration } from '../configuration/read-configuration.js';
import { StartError } from '../configuration/start-error.js';
import { prepareDataFolder } from './data-folder.js';
import { DemoDatabase } from './demo-database.js';
import { makeSigningKey, serveIssuer } from './issuer.js';
import { choosePort, listenPreferably } from './ports.js';
import { findDatabaseFolder } from './postgres-programs.js';

const PROJECT = join(import.meta.dirname, '..', '..');
/** The folder with the files that the demo keeps between starts. */
const DATA = join(PROJECT, '.data');
const HOST = '127.0.0.1';
/** The preferred ports. If one is taken, any free port replaces it. */
const USUAL_PORTS = { api: 3000, management: 3001, issuer: 3002 };
const OAUTH_AUDIENCE = 'https://orders.demo.example';
const CLIENT_ID = 'demo-program';
/** While the demo waits for something, it says so at this interval. */
const MESSAGE_INTERVAL_MS = 5_000;
/** The longest wait until the service is ready. Usually it is ready after one second. */
const READY_LIMIT_MS = 60_000;

type Variables = Readonly<Record<string, string>>;

/**
 * @param addStop is called with a function that stops a part, as soon as this part is started
 * @throws StartError that says what is wrong and how to mend it
 */
export async function startDemo(addStop: (stop: () => Promise<unknown>) => void): Promise<void> {
  adaptEnvironment();
  prepareDataFolder(DATA);
  const { BASE_PATH } = checkEnvironment();
  const database = await DemoDatabase.create(findDatabaseFolder(PROJECT));
  const starting = database.start();
  addStop(async () => {
    await starting.catch(() => undefined); // otherwise a server that is still starting would go on running
    await database.stop();
  });
  const loading = import('../bootstrap/start-service.js'); // takes half a second, in which PostgreSQL starts
  await Promise.all([waitFor('PostgreSQL', starting), loading]);
  const key = await readOrMake('api-key', /^[\w-]+$/, generateApiKey);
  await waitFor('the migrations of the database', database.prepare(key));

  const secret = await readOrMake('client-secret', /^\w+$/, () => randomBytes(12).toString('hex'));
  const signingKey = await readOrMake('issuer-key.json', /^\{.*\}$/, makeSigningKey);
  const issuer = createServer();
  const issuerUrl = `http://${HOST}:${await listenPreferably(issuer, USUAL_PORTS.issuer)}`;
  addStop(async () => issuer.close());
  await serveIssuer(issuer, {
    url: issuerUrl,
    audience: OAUTH_AUDIENCE,
    scopes: '',
    machine: { id: CLIENT_ID, secret },
    // Without a port: the issuer accepts any port of this machine, and the port is chosen later
    redirectUris: [HOST, 'localhost'].map((host) => `http://${host}${BASE_PATH}/docs/oauth2-redirect.html`),
    signingKey,
  });

  const service = await startOnFreePorts(makeEnvironment(database.url, issuerUrl));
  addStop(() => service.stop());
  await waitFor('the service, which is not ready', untilReady(service));
  const variables = {
    API: service.url + BASE_PATH,
    KEY: key,
    TOKEN: await fetchToken(issuerUrl, secret),
    CLIENT_ID,
    CLIENT_SECRET: secret,
    DATABASE_URL: database.url,
    OAUTH_ISSUER: issuerUrl,
    OAUTH_AUDIENCE,
  };
  writePrivateFile(join(DATA, 'demo.env'), toShellExports(variables));
  // A static import would delay the start of PostgreSQL
  const { LOOKUP_PATHS } = await import('../documentation/openapi-document.js');
  process.stdout.write(describeDemo(variables, LOOKUP_PATHS, service.managementUrl, database.data));
}

/** Removes the variables PG…, which would change our connections. Exempts calls to this machine from a proxy. */
function adaptEnvironment(): void {
  for (const name of Object.keys(process.env)) if (name.startsWith('PG')) delete process.env[name];
  exemptFromProxy(HOST);
}

/** Returns the environment of the service: the shell's variables, but the demo's database and issuer. */
function makeEnvironment(databaseUrl: string, issuerUrl: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    HOST,
    MANAGEMENT_HOST: '',
    LOG_LEVEL: process.env['LOG_LEVEL'] || 'warn',
    DATABASE_URL: databaseUrl,
    OAUTH_ISSUER: issuerUrl,
    OAUTH_AUDIENCE,
  };
}

/** @throws StartError with everything that is wrong in the shell's variables, before anything is started */
function checkEnvironment(): Configuration {
  const environment = makeEnvironment('postgres://localhost', `http://${HOST}`); // the addresses are not known yet
  const { PORT, MANAGEMENT_PORT } = process.env;
  // If a port is not set, the demo finds a free port later
  return readConfiguration({ ...environment, PORT: PORT || '0', MANAGEMENT_PORT: MANAGEMENT_PORT || '0' });
}

/**
 * Returns the text of a file in `.data/`. Makes the file if it is missing or does not match `form`. The next start uses
 * the same text, so a terminal that has loaded demo.env keeps the right values.
 */
async function readOrMake(name: string, form: RegExp, make: () => string | Promise<string>): Promise<string> {
  const file = join(DATA, name);
  const stored = existsSync(file) ? readFileSync(file, 'utf8') : '';
  if (form.test(stored)) return stored;
  const made = await make();
  writePrivateFile(file, made);
  return made;
}

/** Writes a file that only its owner may read. If the disk is full, the former file stays whole. */
function writePrivateFile(file: string, text: string): void {
  const unfinished = `${file}.${process.pid}`;
  writeFileSync(unfinished, text, { mode: 0o600 });
  renameSync(unfinished, file);
}

async function waitFor<T>(what: string, work: Promise<T>): Promise<T> {
  const timer = setInterval(() => process.stderr.write(`The demo waits for ${what} …\n`), MESSAGE_INTERVAL_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

/** Starts the service. If another program takes a port at the same time, starts it on any free ports. */
async function startOnFreePorts(environment: NodeJS.ProcessEnv): Promise<Service> {
  const { startService } = await import('../bootstrap/start-service.js');
  try {
    return await startService(readConfiguration({ ...environment, ...(await findPorts(environment)) }));
  } catch (error) {
    // We treat each StartError as a taken port. If it has another cause, the second attempt throws it again
    if (!(error instanceof StartError)) throw error;
    return startService(readConfiguration({ ...environment, PORT: '0', MANAGEMENT_PORT: '0' }));
  }
}

async function findPorts({ PORT, MANAGEMENT_PORT }: NodeJS.ProcessEnv): Promise<Variables> {
  const api = await findPort(PORT, USUAL_PORTS.api);
  const management = await findPort(MANAGEMENT_PORT, USUAL_PORTS.management);
  const isSamePort = management === api; // the same free port may be found twice
  return { PORT: `${api}`, MANAGEMENT_PORT: isSamePort ? '0' : `${management}` };
}

/** Returns the port that is set, or else the usual port. If that port is 0 or taken, returns a free port. */
async function findPort(set: string | undefined, usual: number): Promise<number> {
  const wanted = set ? Number(set) : usual;
  const port = await choosePort(wanted);
  const isTaken = wanted !== 0 && port !== wanted;
  if (set && isTaken)
    process.stderr.write(`Port ${set} is taken, or needs more rights: the demo has ${port} instead.\n`);
  return port;
}

/** @throws StartError with the reasons of `/health/ready`, if the service is not ready after READY_LIMIT_MS */
async function untilReady({ managementUrl }: Service): Promise<void> {
  const beginMs = performance.now();
  for (;;) {
    const response = await fetch(`${managementUrl}/health/ready`);
    const reasons = await response.text();
    if (response.status === 200) return;
    if (performance.now() > beginMs + READY_LIMIT_MS)
      throw new StartError(`The service of the demo does not become ready: ${reasons}`);
    await pause(20);
  }
}

async function fetchToken(issuerUrl: string, secret: string): Promise<string> {
  const body = new URLSearchParams({ grant_type: 'client_credentials' });
  const headers = { Authorization: `Basic ${btoa(`${CLIENT_ID}:${secret}`)}` };
  const response = await fetch(`${issuerUrl}/token`, { method: 'POST', headers, body });
  if (!response.ok) throw new StartError(`The issuer of the demo gives no token: ${await response.text()}`);
  const { access_token: token } = (await response.json()) as { access_token: string };
  return token;
}

function toShellExports(variables: Variables): string {
  const lines = Object.entries(variables).map(([name, value]) => `export ${name}='${value}'\n`);
  return lines.join('');
}

/** Returns the text that the demo prints: the addresses, calls to paste, and a first change of the codes. */
function describeDemo(
  variables: Variables,
  operationPaths: readonly string[],
  managementUrl: string,
  data: string,
): string {
  const { API, KEY, OAUTH_ISSUER, DATABASE_URL } = variables;
  const formatCurl = (path: string): string =>
    `curl -s -H "Api-Key: $KEY" -H "Authorization: Bearer $TOKEN" \\\n  "$API${path}"`;
  return `
Order Lookup Services: the demo runs.

  API            ${API}
  Documentation  ${API}/docs
  Management     ${managementUrl} (/health/ready, /metrics)
  Issuer         ${OAUTH_ISSUER} (development only; everyone is signed in)
  Database       ${DATABASE_URL}
  API key        ${KEY}

1. Open a second terminal in this folder and set the addresses, an API key and an access token
   there. The token is valid for 8 hours. The same lines are in .data/demo.env.

${toShellExports(variables)}
2. Call the operations.

${operationPaths.map(formatCurl).join('\n')}

3. Add a code: export the codes, add a line, and make a migration of the difference. Look at the
   plan, and apply it.

npm run --silent codes -- export communication-codes > codes.csv
echo 'MY-TYPE,MY-CODE,My first code,,' >> codes.csv
npm run migrate -- new add_my_code --from codes.csv
npm run migrate -- plan
npm run migrate -- up

4. See it in the answer, within one second.

${formatCurl('/order-scheduling/communication-codes?codeType=MY-TYPE')}

5. Take it back: run "npm run migrate -- down", then delete the file in migrations/. If the file
   stays, the next "up" applies it again, also to any other database.

README.md and docs/administrators.md explain more. Ctrl-C stops everything. The data stays; to start
afresh, delete ${data} after that.
`;
}
