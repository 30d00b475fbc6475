// Speaks HTTP alone: to the service at E2E_BASE_URL (docker-compose), or, without that, to one that it starts.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { generateApiKey, hashApiKey } from '../../src/auth/api-keys/api-key.js';
import { expectProblem } from '../support/problem.js';
import { until } from '../support/service.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';
import { SAMPLES, World } from '../support/world.js';

const fixture = (name: string): string =>
  readFileSync(
    join(import.meta.dirname, '..', 'fixtures', `${name}.supported-values.json`),
    'utf8',
  );
const { orderUpdate: UPDATE, orderCaptureV2: CAPTURE, communicationCodes: CODES } = PATHS;

let world: World | undefined;
let base: string;
let management: string;
let good: Record<string, string>;

async function tokenOf(issuer: string): Promise<string> {
  const { E2E_CLIENT_ID, E2E_CLIENT_SECRET } = process.env;
  const response = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: {
      Authorization: `Basic ${Buffer.from(`${E2E_CLIENT_ID}:${E2E_CLIENT_SECRET}`).toString('base64')}`,
    },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  return ((await response.json()) as { access_token: string }).access_token;
}

beforeAll(async () => {
  const {
    E2E_BASE_URL,
    E2E_MANAGEMENT_URL = '',
    E2E_ISSUER_URL = '',
    E2E_DATABASE_URL,
  } = process.env;
  if (E2E_BASE_URL) {
    [base, management] = [E2E_BASE_URL, E2E_MANAGEMENT_URL];
    const key = generateApiKey();
    const client = new Client(E2E_DATABASE_URL);
    await client.connect();
    await client.query(`${SAMPLES} on conflict do nothing`);
    await client.query(
      `insert into api_key (client, key_hash) values ('end-to-end tests', decode($1, 'hex'))`,
      [hashApiKey(key)],
    );
    await client.end();
    good = { 'Api-Key': key, Authorization: `Bearer ${await tokenOf(E2E_ISSUER_URL)}` };
  } else {
    world = await World.create();
    [base, management] = [world.service.url, world.service.managementUrl];
    good = { 'Api-Key': world.key.key, Authorization: `Bearer ${world.token}` };
  }
  await until(async () =>
    (await get(`${CODES}?codeType=SAMPLE-STATUS&code=S1`)).text.includes('SAMPLE-STATUS'),
  );
});
afterAll(() => world?.close());

async function get(path: string, headers: Record<string, string> = good, method = 'GET') {
  const response = await fetch(base + path, { method, headers });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

describe('the running service', () => {
  it('answers the supported values of both areas, byte for byte', async () => {
    expect(await get(UPDATE)).toMatchObject({ status: 200, text: fixture('order-update') });
    expect(await get(CAPTURE)).toMatchObject({ status: 200, text: fixture('order-capture-v2') });
  });

  it('answers communication codes by both filters', async () => {
    expect(await get(`${CODES}?codeType=SAMPLE-USAGE&code=S1`)).toMatchObject({
      status: 200,
      text: '{"communicationRecords":[{"codeType":"SAMPLE-USAGE","code":"S1","description":"Sample: same code, other type"}]}',
    });
    expect(await get(`${CODES}?code=none`)).toMatchObject({
      status: 200,
      text: '{"communicationRecords":[]}',
    });
  });

  it.each(ALL_PATHS)('answers 304 to the entity tag of %s', async (path) => {
    const { headers } = await get(path);
    expect(await get(path, { ...good, 'If-None-Match': headers.get('etag') ?? '' })).toMatchObject({
      status: 304,
      text: '',
    });
  });

  it('answers every error with a problem document', async () => {
    expectProblem(await get(UPDATE, {}), 'missing-credentials');
    expectProblem(
      await get(UPDATE, { ...good, 'Api-Key': generateApiKey() }),
      'invalid-credentials',
    );
    expectProblem(
      await get(UPDATE, { ...good, Authorization: `${good['Authorization']}x` }),
      'invalid-credentials',
    );
    expectProblem(await get('/nothing'), 'not-found');
    expectProblem(await get(UPDATE, good, 'DELETE'), 'method-not-allowed');
    expectProblem(await get(`${CODES}?codetype=x`), 'invalid-query');
  });

  it('is alive and ready, and tells its metrics on the management port alone', async () => {
    for (const path of ['/health/live', '/health/ready']) {
      expect((await fetch(management + path)).status).toBe(200);
      expectProblem(await get(path), 'not-found');
    }
    const metrics = await (await fetch(`${management}/metrics`)).text();
    expect(metrics).toContain('order_lookup_database_up 1');
    expectProblem(await get('/metrics'), 'not-found');
  });

  it('shows its documentation to everyone', async () => {
    expect((await get('/docs', {})).status).toBe(200);
    expect(JSON.parse((await get('/openapi.json', {})).text)).toMatchObject({ openapi: '3.1.0' });
  });
});
