// Tests a service by HTTP only: the service at E2E_BASE_URL (docker-compose), or else a service that this file starts.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { generateApiKey, hashApiKey } from '../../src/auth/api-keys/api-key.js';
import { queryAt } from '../support/database.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';
import { expectProblem } from '../support/problem.js';
import { fetchReply } from '../support/exchange.js';
import { until } from '../support/until.js';
import { INSERT_SAMPLES, World } from '../support/world.js';

const FIXTURES = join(import.meta.dirname, '..', 'fixtures');
const fixture = (name: string): string => readFileSync(join(FIXTURES, `${name}.supported-values.json`), 'utf8');
const { orderUpdate: UPDATE_PATH, orderCaptureV2: CAPTURE_PATH, communicationCodes: CODES_PATH } = PATHS;

let world: World | undefined;
let baseUrl: string;
let managementUrl: string;
let goodHeaders: Record<string, string>;

/** Makes samples and a key for the service of docker-compose, and gets a token. Returns the headers of a caller. */
async function prepareCompose(environment: NodeJS.ProcessEnv): Promise<Record<string, string>> {
  const key = generateApiKey();
  await queryAt(
    environment['E2E_DATABASE_URL'] ?? '',
    `${INSERT_SAMPLES} on conflict do nothing;
     insert into api_key (client, key_hash) values ('end-to-end tests', decode('${hashApiKey(key)}', 'hex'))`,
  );
  const credentials = `${environment['E2E_CLIENT_ID']}:${environment['E2E_CLIENT_SECRET']}`;
  const { text } = await fetchReply(`${environment['E2E_ISSUER_URL']}/token`, {
    method: 'POST',
    headers: { Authorization: `Basic ${btoa(credentials)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const { access_token: token } = JSON.parse(text) as { access_token: string };
  return { 'Api-Key': key, Authorization: `Bearer ${token}` };
}

beforeAll(async () => {
  const { E2E_BASE_URL, E2E_MANAGEMENT_URL = '' } = process.env;
  if (E2E_BASE_URL) {
    [baseUrl, managementUrl] = [E2E_BASE_URL, E2E_MANAGEMENT_URL];
    goodHeaders = await prepareCompose(process.env);
  } else {
    world = await World.create();
    [baseUrl, managementUrl, goodHeaders] = [world.service.url, world.service.managementUrl, world.headers];
  }
  await until(async () => (await get(`${CODES_PATH}?codeType=SAMPLE-STATUS&code=S1`)).text.includes('SAMPLE-STATUS'));
});
afterAll(() => world?.close());

const get = async (path: string, headers: Record<string, string> = goodHeaders, method = 'GET') =>
  fetchReply(baseUrl + path, { method, headers });

const RECORD = '{"codeType":"SAMPLE-USAGE","code":"S1","description":"Sample: same code, other type"}';
it.each([
  { path: UPDATE_PATH, text: fixture('order-update') },
  { path: CAPTURE_PATH, text: fixture('order-capture-v2') },
  { path: `${CAPTURE_PATH}?codeType=x&unknown=%zz`, text: fixture('order-capture-v2') }, // the query is ignored
  {
    path: `${CODES_PATH}?codeType=SAMPLE-USAGE&code=S1`,
    text: `{"communicationRecords":[${RECORD}]}`,
  },
  { path: `${CODES_PATH}?code=none`, text: '{"communicationRecords":[]}' },
])(
  'the running service answers $path with the expected bytes, and with 304 to its entity tag',
  async ({ path, text }) => {
    const answer = await get(path, { ...goodHeaders, Accept: 'text/html' }); // the answer is always JSON
    expect(answer).toMatchObject({ status: 200, text });
    expect(answer.headers.get('content-type')).toBe('application/json');
    const known = { ...goodHeaders, 'If-None-Match': answer.headers.get('etag') ?? '' };
    expect(await get(path, known)).toMatchObject({ status: 304, text: '' });
  },
);

it.each(ALL_PATHS)('the running service answers 401, 404 and 405 at %s with problem documents', async (path) => {
  const invalid = { 'Api-Key': generateApiKey(), Authorization: `${goodHeaders['Authorization']}x` };
  expectProblem(await get(path, {}), 'missing-credentials');
  expectProblem(await get(path, { ...goodHeaders, ...invalid }), 'invalid-credentials');
  expectProblem(await get(`${path}/`), 'not-found');
  expectProblem(await get(path, goodHeaders, 'DELETE'), 'method-not-allowed');
});

it('the running service is alive and ready, and serves its metrics only on the management port', async () => {
  for (const path of ['/health/live', '/health/ready', '/metrics']) {
    expect((await fetchReply(managementUrl + path)).status).toBe(200);
    expectProblem(await get(path), 'not-found');
  }
});

it('the running service shows its documentation to everyone', async () => {
  expect((await get('/docs', {})).status).toBe(200);
  expect(JSON.parse((await get('/openapi.json', {})).text)).toMatchObject({ openapi: '3.1.0' });
});
