// Tests the service by HTTP only. E2E_BASE_URL names a running service (docker-compose). Without it this file starts
// one.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { generateApiKey, hashApiKey } from '../../src/auth/api-keys/api-key.js';
import { queryAt } from '../support/database.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';
import { expectProblem } from '../support/problem.js';
import { readReply } from '../support/exchange.js';
import { until } from '../support/until.js';
import { INSERT_SAMPLES, World } from '../support/world.js';

const FIXTURES = join(import.meta.dirname, '..', 'fixtures');
const fixture = (name: string): string => readFileSync(join(FIXTURES, `${name}.supported-values.json`), 'utf8');
const { orderUpdate: UPDATE, orderCaptureV2: CAPTURE, communicationCodes: CODES } = PATHS;

let world: World | undefined;
let base: string;
let management: string;
let good: Record<string, string>;

/** Makes samples, a key and a token for the service of docker-compose. */
async function prepare(environment: NodeJS.ProcessEnv): Promise<Record<string, string>> {
  const key = generateApiKey();
  await queryAt(
    environment['E2E_DATABASE_URL'] ?? '',
    `${INSERT_SAMPLES} on conflict do nothing;
     insert into api_key (client, key_hash) values ('end-to-end tests', decode('${hashApiKey(key)}', 'hex'))`,
  );
  const credentials = `${environment['E2E_CLIENT_ID']}:${environment['E2E_CLIENT_SECRET']}`;
  const response = await fetch(`${environment['E2E_ISSUER_URL']}/token`, {
    method: 'POST',
    headers: { Authorization: `Basic ${btoa(credentials)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const { access_token: token } = (await response.json()) as { access_token: string };
  return { 'Api-Key': key, Authorization: `Bearer ${token}` };
}

beforeAll(async () => {
  const { E2E_BASE_URL, E2E_MANAGEMENT_URL = '' } = process.env;
  if (E2E_BASE_URL) {
    [base, management] = [E2E_BASE_URL, E2E_MANAGEMENT_URL];
    good = await prepare(process.env);
  } else {
    world = await World.create();
    [base, management, good] = [world.service.url, world.service.managementUrl, world.headers];
  }
  await until(async () => (await get(`${CODES}?codeType=SAMPLE-STATUS&code=S1`)).text.includes('SAMPLE-STATUS'));
});
afterAll(() => world?.close());

const get = async (path: string, headers: Record<string, string> = good, method = 'GET') =>
  readReply(await fetch(base + path, { method, headers }));

const RECORD = '{"codeType":"SAMPLE-USAGE","code":"S1","description":"Sample: same code, other type"}';
it.each([
  { path: UPDATE, text: fixture('order-update') },
  { path: CAPTURE, text: fixture('order-capture-v2') },
  { path: `${CAPTURE}?codeType=x&unknown=%zz`, text: fixture('order-capture-v2') },
  {
    path: `${CODES}?codeType=SAMPLE-USAGE&code=S1`,
    text: `{"communicationRecords":[${RECORD}]}`,
  },
  { path: `${CODES}?code=none`, text: '{"communicationRecords":[]}' },
])(
  'the running service answers $path with the expected bytes, and with 304 to its entity tag',
  async ({ path, text }) => {
    const answer = await get(path, { ...good, Accept: 'text/html' }); // the answer is always JSON
    expect(answer).toMatchObject({ status: 200, text });
    expect(answer.headers.get('content-type')).toBe('application/json');
    const known = { ...good, 'If-None-Match': answer.headers.get('etag') ?? '' };
    expect(await get(path, known)).toMatchObject({ status: 304, text: '' });
  },
);

it.each(ALL_PATHS)('the running service answers every error at %s with a problem document', async (path) => {
  const invalid = { 'Api-Key': generateApiKey(), Authorization: `${good['Authorization']}x` };
  expectProblem(await get(path, {}), 'missing-credentials');
  expectProblem(await get(path, { ...good, ...invalid }), 'invalid-credentials');
  expectProblem(await get(`${path}/`), 'not-found');
  expectProblem(await get(path, good, 'DELETE'), 'method-not-allowed');
});

it('the running service is alive and ready, and serves its metrics only on the management port', async () => {
  for (const path of ['/health/live', '/health/ready', '/metrics']) {
    expect((await fetch(management + path)).status).toBe(200);
    expectProblem(await get(path), 'not-found');
  }
});

it('the running service shows its documentation to everyone', async () => {
  expect((await get('/docs', {})).status).toBe(200);
  expect(JSON.parse((await get('/openapi.json', {})).text)).toMatchObject({ openapi: '3.1.0' });
});
