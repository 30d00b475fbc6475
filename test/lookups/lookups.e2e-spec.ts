import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '../support/problem.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';
import { World } from '../support/world.js';

const fixture = (name: string): string =>
  readFileSync(join(import.meta.dirname, '..', 'fixtures', name), 'utf8');
const CODES = PATHS.communicationCodes;

let world: World;
beforeAll(async () => {
  world = await World.create();
});
afterAll(() => world?.close());

const RECORDS = [
  { codeType: 'SAMPLE-STATUS', code: 'S1', description: 'Sample: order received' },
  { codeType: 'SAMPLE-STATUS', code: 'S2', description: 'Sample: "on the way" – größer' },
  { codeType: 'SAMPLE-USAGE', code: 'S1', description: 'Sample: same code, other type' },
  { codeType: 'SAMPLE-USAGE', code: 'a\\b"c', description: 'Sample: special characters' },
  { codeType: 'SAMPLE-usage', code: 'é𝄞', description: 'Sample: beyond ASCII' },
];
async function expectAnswer(path: string, text: string): Promise<void> {
  const reply = await world.get(path);
  expect(reply).toMatchObject({ status: 200, text });
  expect(reply.headers.get('content-type')).toBe('application/json');
}

it.each([
  [PATHS.orderUpdate, 'order-update.supported-values.json'],
  [PATHS.orderCaptureV2, 'order-capture-v2.supported-values.json'],
])(
  'GET %s answers the values of the interface document, byte for byte, whatever the query',
  async (path, file) => {
    for (const query of ['', '?codeType=x&unknown=%zz'])
      await expectAnswer(path + query, fixture(file));
  },
);

describe(`GET ${CODES}`, () => {
  it.each([
    ['', [0, 1, 2, 3, 4]],
    ['?', [0, 1, 2, 3, 4]],
    ['?codeType=SAMPLE-STATUS', [0, 1]],
    ['?codeType=SAMPLE-USAGE', [2, 3]],
    ['?codeType=SAMPLE-usage', [4]],
    ['?code=S1', [0, 2]],
    ['?codeType=SAMPLE-USAGE&code=S1', [2]],
    ['?code=S1&codeType=SAMPLE-STATUS&', [0]],
    [`?code=${encodeURIComponent('a\\b"c')}`, [3]],
    [`?code=${encodeURIComponent('é𝄞')}`, [4]],
    ['?codeType=sample-status', []],
    ['?codeType=SAMPLE', []],
    ['?codeType=+SAMPLE-STATUS', []],
    ['?codeType=zzz&code=S1', []],
    ['?code=0', []],
  ])('answers %s with the records that match exactly, in order', async (query, indexes) => {
    const communicationRecords = indexes.map((index) => RECORDS[index]);
    await expectAnswer(CODES + query, JSON.stringify({ communicationRecords }));
  });

  it.each([
    ['?codeType=', ['codeType']],
    ['?codeType', ['codeType']],
    ['?codeType=a&codeType=a', ['codeType']],
    [`?code=${'x'.repeat(257)}`, ['code']],
    ['?code=a%00b', ['code']],
    ['?code=%zz', ['code']],
    ['?code=%C3%28', ['code']],
    ['?code=%ED%A0%80', ['code']],
    ['?codetype=a', ['codetype']],
    ['?codeType[]=a', ['codeType[]']],
    ['?__proto__=a&constructor=b', ['__proto__', 'constructor']],
    ['?a=1&codeType=&code=%&b=2', ['code', 'a', 'b', 'codeType']],
  ])('refuses %s and names every fault', async (query, fields) => {
    const { issues = [] } = expectProblem(await world.get(CODES + query), 'invalid-query');
    expect(issues.map(({ field, location }) => `${location} ${field}`).toSorted()).toEqual(
      fields.map((field) => `query ${field}`).toSorted(),
    );
  });

  it('asks whether a near name was meant', async () => {
    const reply = await world.get(`${CODES}?codetype=a&cod=b&entirely=c`);
    const { issues } = expectProblem(reply, 'invalid-query');
    expect(issues?.map(({ description }) => description.split('known.')[1]?.trim())).toEqual([
      'Did you mean codeType?',
      'Did you mean code?',
      '',
    ]);
  });

  it('names 20 faults at most', async () => {
    const names = Array.from({ length: 50 }, (_, at) => `p${at}=1`);
    const { issues } = expectProblem(
      await world.get(`${CODES}?${names.join('&')}`),
      'invalid-query',
    );
    expect(issues).toHaveLength(20);
  });
});

describe.each(ALL_PATHS)('%s', (path) => {
  it('answers HEAD like GET without the body', async () => {
    const [get, head] = [await world.get(path), await world.get(path, { method: 'HEAD' })];
    expect(head).toMatchObject({ status: 200, text: '' });
    for (const name of ['content-type', 'content-length', 'etag', 'cache-control'])
      expect(head.headers.get(name)).toBe(get.headers.get(name));
  });

  it('answers OPTIONS with the methods, without credentials', async () => {
    const headers = { 'Api-Key': undefined, Authorization: undefined };
    const reply = await world.get(path, { method: 'OPTIONS', headers });
    expect(reply).toMatchObject({ status: 204, text: '' });
    expect(reply.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND'])('refuses %s', async (method) => {
    const reply = await world.get(path, { method });
    expectProblem(reply, 'method-not-allowed');
    expect(reply.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
  });

  it('answers 304 to its entity tag, in a list, weak or as *', async () => {
    const etag = (await world.get(path)).headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const { status, text, headers } = await world.get(path, {
        headers: { 'If-None-Match': tag },
      });
      expect({
        status,
        text,
        etag: headers.get('etag'),
        cache: headers.get('cache-control'),
      }).toEqual({
        status: 304,
        text: '',
        etag,
        cache: 'private, max-age=0, stale-if-error=86400',
      });
    }
    expect((await world.get(path, { headers: { 'If-None-Match': '"other"' } })).status).toBe(200);
  });

  it('has nothing at its address in other case, or followed by anything', async () => {
    for (const other of [`${path}/`, `${path}/x`, `${path}%20`, path.toUpperCase()])
      expectProblem(await world.get(other), 'not-found');
  });
});

it.each([
  [
    'taken over when it is a UUID',
    '0b6c4f3e-7d0a-4a52-9c0f-2f6f7e3b8a11',
    /^0b6c4f3e-7d0a-4a52-9c0f-2f6f7e3b8a11$/,
  ],
  ['made anew when it is not', 'x y', /^[0-9a-f-]{36}$/],
])('X-Request-Id is %s', async (_, id, expected) => {
  const { headers } = await world.get(PATHS.orderUpdate, { headers: { 'X-Request-Id': id } });
  expect(headers.get('x-request-id')).toMatch(expected);
});
