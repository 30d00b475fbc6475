// `npm run test:world` runs the service with a real Keycloak, a program, and a person who signs in at /docs in Debian's
// Chromium. It needs Java 17 or later, Maven (which fetches Keycloak into .data), bash and /usr/bin/chromium.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { chromium } from 'playwright-core';
import { fetchReply } from '../support/exchange.js';
import { AUDIENCE } from '../support/issuer.js';
import { PATHS } from '../support/paths.js';
import { findFreePort } from '../support/ports.js';
import { PROJECT } from '../support/program.js';
import { until } from '../support/until.js';
import { World } from '../support/world.js';

const VERSION = '26.4.0';
const FOLDER = join(PROJECT, '.data', 'world');
const HOME = join(FOLDER, `keycloak-${VERSION}`);
const SECRET = 'tests-only';
const ROLE = 'lookups-reader';

const mapper = (name: string, protocolMapper: string, config: Record<string, string>) => ({
  name,
  protocol: 'openid-connect',
  protocolMapper,
  config: { 'access.token.claim': 'true', ...config },
});
/** The mappers of docs/identity-providers.md: an audience, and the realm's roles as the claim `roles`. */
const protocolMappers = [
  mapper('audience', 'oidc-audience-mapper', { 'included.custom.audience': AUDIENCE }),
  mapper('roles', 'oidc-usermodel-realm-role-mapper', {
    'claim.name': 'roles',
    'jsonType.label': 'String',
    multivalued: 'true',
  }),
];
const programClient = { secret: SECRET, serviceAccountsEnabled: true, standardFlowEnabled: false };
const userWithRole = { enabled: true, realmRoles: [ROLE] };
const person = { email: 'ada@example.com', firstName: 'Ada', lastName: 'L' };
const realm = (name: string, serviceUrl: string) => ({
  realm: name,
  enabled: true,
  roles: { realm: [{ name: ROLE }] },
  clients: [
    { clientId: 'batch', ...programClient, protocolMappers },
    { clientId: 'without-role', ...programClient, protocolMappers },
    {
      clientId: 'order-lookup-docs',
      publicClient: true,
      redirectUris: [`${serviceUrl}/docs/oauth2-redirect.html`],
      webOrigins: [serviceUrl],
      protocolMappers,
    },
  ],
  users: [
    { username: 'service-account-batch', serviceAccountClientId: 'batch', ...userWithRole },
    { username: 'ada', ...person, credentials: [{ type: 'password', value: SECRET }], ...userWithRole },
  ],
});

let keycloak: ChildProcess | undefined;
let url: string;
let world: World;

async function startKeycloak(): Promise<void> {
  const place = ['--http-host=127.0.0.1', `--http-port=${new URL(url).port}`];
  const options = { cwd: HOME, stdio: 'ignore', detached: true } as const; // a process group, so that Java ends, too
  keycloak = spawn('bash', ['bin/kc.sh', 'start-dev', '--import-realm', ...place], options);
  const isUp = async (): Promise<boolean> => (await fetch(`${url}/realms/orders`)).ok;
  await until(isUp, { everyMs: 500, limitMs: 180_000 }); // Keycloak builds itself at its first start
}

async function stopKeycloak(): Promise<void> {
  if (!keycloak?.pid) return;
  const ended = once(keycloak, 'exit');
  process.kill(-keycloak.pid, 'SIGTERM');
  await ended;
}

beforeAll(async () => {
  const artifact = `-Dartifact=org.keycloak:keycloak-quarkus-dist:${VERSION}:zip`;
  mkdirSync(FOLDER, { recursive: true }); // Maven writes a file into the current folder
  if (!existsSync(HOME))
    execFileSync('mvn', ['-q', '-B', 'dependency:unpack', artifact, '-DoutputDirectory=.'], {
      cwd: FOLDER,
    });
  const PORT = String(await findFreePort());
  url = `http://127.0.0.1:${await findFreePort()}`;
  const data = join(HOME, 'data');
  rmSync(data, { recursive: true, force: true }); // Keycloak imports no realm that exists already
  mkdirSync(join(data, 'import'), { recursive: true });
  for (const name of ['orders', 'other']) {
    const imported = JSON.stringify(realm(name, `http://127.0.0.1:${PORT}`));
    writeFileSync(join(data, 'import', `${name}.json`), imported);
  }
  await startKeycloak();
  const OAUTH_ISSUER = `${url}/realms/orders`;
  world = await World.create({ OAUTH_ISSUER, OAUTH_REQUIRED_SCOPE: ROLE, PORT });
});
afterAll(async () => {
  await world?.close();
  await stopKeycloak();
});

async function fetchToken(client_id = 'batch', realmName = 'orders'): Promise<string> {
  const grant = { grant_type: 'client_credentials', client_id, client_secret: SECRET };
  const address = `${url}/realms/${realmName}/protocol/openid-connect/token`;
  const { text } = await fetchReply(address, { method: 'POST', body: new URLSearchParams(grant) });
  return (JSON.parse(text) as { access_token: string }).access_token;
}
const statusOf = async (token: string): Promise<number> =>
  (await world.get(PATHS.orderUpdate, { headers: { Authorization: `Bearer ${token}` } })).status;

it('a program gets 200 with the role, 403 without the role, and 401 with a token of another realm', async () => {
  expect(await statusOf(await fetchToken())).toBe(200);
  expect(await statusOf(await fetchToken('without-role'))).toBe(403);
  expect(await statusOf(await fetchToken('batch', 'other'))).toBe(401);
});

it('a person with the role signs in at /docs, and gets 200', async () => {
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
  const page = await browser.newPage();
  await page.goto(`${world.service.url}/docs`);
  await page.getByRole('button', { name: 'Authorize' }).first().click();
  const dialog = page.locator('.dialog-ux');
  await dialog.locator('input').first().fill(world.key.key);
  await dialog.getByRole('button', { name: 'Apply credentials' }).click();
  await dialog.getByText('select none', { exact: true }).click(); // Keycloak would refuse the role as a scope
  const opened = page.waitForEvent('popup');
  await dialog.getByRole('button', { name: 'Apply given OAuth2 credentials' }).click();
  const form = await opened;
  await form.locator('#username').fill('ada');
  await form.locator('#password').fill(SECRET);
  await form.locator('#kc-login').click();
  // The first of these buttons removes the API key, and the second one the token
  await dialog.getByRole('button', { name: 'Remove authorization' }).nth(1).waitFor();
  await dialog.getByRole('button', { name: 'Close' }).first().click();
  await page.locator('.opblock-summary-control').first().click();
  await page.getByRole('button', { name: 'Execute' }).click();
  const status = page.locator('.live-responses-table .response-col_status');
  await status.filter({ hasText: '200' }).waitFor();
  await browser.close();
});
