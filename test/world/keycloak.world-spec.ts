// `npm run test:world`: the service with a real Keycloak. It needs Java 17 or later, Maven (which fetches Keycloak into .data) and bash.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { AUDIENCE } from '../support/issuer.js';
import { PATHS } from '../support/paths.js';
import { freePort } from '../support/postgres-server.js';
import { PROJECT } from '../support/program.js';
import { type RunningService, until } from '../support/service.js';
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
/** As docs/identity-providers.md has it: an audience, and roles of the realm as the claim `roles`. */
const protocolMappers = [
  mapper('audience', 'oidc-audience-mapper', { 'included.custom.audience': AUDIENCE }),
  mapper('roles', 'oidc-usermodel-realm-role-mapper', {
    'claim.name': 'roles',
    'jsonType.label': 'String',
    multivalued: 'true',
  }),
];
const program = (clientId: string) => ({
  clientId,
  secret: SECRET,
  serviceAccountsEnabled: true,
  directAccessGrantsEnabled: false,
  standardFlowEnabled: true,
  redirectUris: ['http://127.0.0.1/*'],
  protocolMappers,
});
const realm = (name: string) => ({
  realm: name,
  enabled: true,
  sslRequired: 'none',
  roles: { realm: [{ name: ROLE }] },
  clients: ['batch', 'without-role'].map(program),
  users: [
    {
      username: 'service-account-batch',
      enabled: true,
      serviceAccountClientId: 'batch',
      realmRoles: [ROLE],
    },
    {
      ...{
        username: 'ada',
        enabled: true,
        email: 'ada@example.com',
        firstName: 'A',
        lastName: 'L',
      },
      credentials: [{ type: 'password', value: SECRET }],
      realmRoles: [ROLE],
    },
  ],
});

let keycloak: ChildProcess;
let url: string;
let world: World;
let service: RunningService;

async function startKeycloak(): Promise<void> {
  const { port } = new URL(url);
  const words = [
    'bin/kc.sh',
    'start-dev',
    '--import-realm',
    '--http-host=127.0.0.1',
    `--http-port=${port}`,
  ];
  const KC_BOOTSTRAP_ADMIN_USERNAME = 'admin';
  const env = { ...process.env, KC_BOOTSTRAP_ADMIN_USERNAME, KC_BOOTSTRAP_ADMIN_PASSWORD: SECRET };
  keycloak = spawn('bash', words, { cwd: HOME, env, stdio: 'ignore', detached: true }); // a group, to end Java with it
  await until(async () => (await fetch(`${url}/realms/orders`)).ok, {
    timeoutMs: 300_000,
    everyMs: 500,
  });
}

async function stopKeycloak(): Promise<void> {
  if (!keycloak?.pid) return;
  const ended = once(keycloak, 'exit');
  process.kill(-keycloak.pid, 'SIGTERM');
  await ended;
}

beforeAll(async () => {
  const artifact = `-Dartifact=org.keycloak:keycloak-quarkus-dist:${VERSION}:zip`;
  if (!existsSync(HOME))
    execFileSync('mvn', ['-q', '-B', 'dependency:unpack', artifact, `-DoutputDirectory=${FOLDER}`]);
  mkdirSync(join(HOME, 'data', 'import'), { recursive: true });
  for (const name of ['orders', 'other'])
    writeFileSync(join(HOME, 'data', 'import', `${name}.json`), JSON.stringify(realm(name)));
  url = `http://127.0.0.1:${await freePort()}`;
  await startKeycloak();
  const OAUTH_ISSUER = `${url}/realms/orders`;
  world = await World.create({ OAUTH_ISSUER, OAUTH_REQUIRED_SCOPE: ROLE });
  service = world.service;
}, 600_000);
afterAll(async () => {
  await world?.close();
  await stopKeycloak();
});

async function granted(
  body: Record<string, string>,
  name = 'orders',
  client = 'batch',
): Promise<string> {
  const headers = { Authorization: `Basic ${btoa(`${client}:${SECRET}`)}` };
  const address = `${url}/realms/${name}/protocol/openid-connect/token`;
  const reply = await fetch(address, { method: 'POST', headers, body: new URLSearchParams(body) });
  return ((await reply.json()) as { access_token: string }).access_token;
}
const ofProgram = (name?: string, client?: string): Promise<string> =>
  granted({ grant_type: 'client_credentials' }, name, client);
const statusOf = async (token: string): Promise<number> =>
  (await world.get(PATHS.orderUpdate, { headers: { Authorization: `Bearer ${token}` }, service }))
    .status;

/** Signs in as a person does in a browser: Keycloak's form, its cookies, and the code of the redirect. */
async function ofPerson(): Promise<string> {
  const redirect_uri = 'http://127.0.0.1/back';
  const query = new URLSearchParams({
    client_id: 'batch',
    response_type: 'code',
    scope: 'openid',
    redirect_uri,
  });
  const form = await fetch(`${url}/realms/orders/protocol/openid-connect/auth?${query.toString()}`);
  const action = /action="([^"]+)"/.exec(await form.text())?.[1]?.replaceAll('&amp;', '&') ?? '';
  const Cookie = form.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ');
  const body = new URLSearchParams({ username: 'ada', password: SECRET });
  const back = await fetch(action, {
    method: 'POST',
    redirect: 'manual',
    headers: { Cookie },
    body,
  });
  const code = new URL(back.headers.get('location') ?? '').searchParams.get('code') ?? '';
  return granted({ grant_type: 'authorization_code', code, redirect_uri });
}

it('accepts a program and a person with the role; 403 without it, 401 for a token of another realm', async () => {
  expect(await statusOf(await ofProgram())).toBe(200);
  expect(await statusOf(await ofPerson())).toBe(200);
  expect(await statusOf(await ofProgram('orders', 'without-role'))).toBe(403);
  expect(await statusOf(await ofProgram('other'))).toBe(401);
});

it('accepts the first token of a new key of the realm, and after a restart of Keycloak', async () => {
  const former = await ofProgram();
  const body = {
    grant_type: 'password',
    client_id: 'admin-cli',
    username: 'admin',
    password: SECRET,
  };
  const address = `${url}/realms/master/protocol/openid-connect/token`;
  const reply = await fetch(address, { method: 'POST', body: new URLSearchParams(body) });
  const { access_token: admin } = (await reply.json()) as { access_token: string };
  const headers = { Authorization: `Bearer ${admin}`, 'Content-Type': 'application/json' };
  const provider = 'org.keycloak.keys.KeyProvider';
  const key = {
    name: 'new',
    providerId: 'rsa-generated',
    providerType: provider,
    config: { priority: ['999'] },
  };
  const components = `${url}/admin/realms/orders/components`;
  const added = await fetch(components, { method: 'POST', headers, body: JSON.stringify(key) });
  expect(added.status).toBe(201);
  const token = await ofProgram();
  expect(token.split('.')[0]).not.toBe(former.split('.')[0]);
  expect([await statusOf(token), await statusOf(former)]).toEqual([200, 200]);
  await stopKeycloak();
  expect([await statusOf(token), await statusOf(former)]).toEqual([200, 200]);
  await startKeycloak();
  expect(await statusOf(await ofProgram())).toBe(200);
}, 600_000);
