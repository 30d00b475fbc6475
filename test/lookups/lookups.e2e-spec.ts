import { describe, expect, it } from '@jest/globals';
import { localWorld } from '../support/local-world.js';
import { type ProblemBody, expectProblem } from '../support/problem.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';

const CODES = PATHS.communicationCodes;

const world = localWorld();

const RECORDS = [
  { codeType: 'SAMPLE-STATUS', code: 'S1', description: 'Sample: order received' },
  { codeType: 'SAMPLE-STATUS', code: 'S2', description: 'Sample: "on the way" – größer' },
  { codeType: 'SAMPLE-USAGE', code: 'S1', description: 'Sample: same code, other type' },
  { codeType: 'SAMPLE-USAGE', code: 'a\\b"c', description: 'Sample: special characters' },
  { codeType: 'SAMPLE-usage', code: 'é𝄞', description: 'Sample: beyond ASCII' },
];
describe(`GET ${CODES}`, () => {
  it.each([
    { query: '', indexes: [0, 1, 2, 3, 4] },
    { query: '?', indexes: [0, 1, 2, 3, 4] },
    { query: '?codeType=SAMPLE-STATUS', indexes: [0, 1] },
    { query: '?codeType=SAMPLE-USAGE', indexes: [2, 3] },
    { query: '?codeType=SAMPLE-usage', indexes: [4] },
    { query: '?code=S1', indexes: [0, 2] },
    { query: '?codeType=SAMPLE-USAGE&code=S1', indexes: [2] },
    { query: '?code=S1&codeType=SAMPLE-STATUS&', indexes: [0] },
    { query: `?code=${encodeURIComponent('a\\b"c')}`, indexes: [3] },
    { query: `?code=${encodeURIComponent('é𝄞')}`, indexes: [4] },
    { query: '?codeType=sample-status', indexes: [] },
    { query: '?codeType=SAMPLE', indexes: [] },
    { query: '?codeType=+SAMPLE-STATUS', indexes: [] },
    { query: '?codeType=zzz&code=S1', indexes: [] },
    { query: `?code=${encodeURIComponent('\u{10000}')}`, indexes: [] },
    { query: '?code=0', indexes: [] },
  ])('answers $query with the records that match exactly, in order', async ({ query, indexes }) => {
    const text = JSON.stringify({ communicationRecords: indexes.map((index) => RECORDS[index]) });
    expect(await world.get(CODES + query)).toMatchObject({ status: 200, text });
  });

  it.each([
    { query: '?codeType=', fields: ['codeType'] },
    { query: '?codeType', fields: ['codeType'] },
    { query: '?codeType=a&codeType=a', fields: ['codeType'] },
    { query: `?code=${'x'.repeat(257)}`, fields: ['code'] },
    { query: '?code=a%00b', fields: ['code'] },
    { query: '?code=%zz', fields: ['code'] },
    { query: '?codeType=&code=%C3%28&other=%', fields: ['codeType', 'code', 'other'] },
    { query: '?code=%ED%A0%80', fields: ['code'] },
    { query: '?%zz=1', fields: ['%zz'] },
    { query: `?${'a=1&'.repeat(1_500)}code=`, fields: ['a', 'code'] },
    { query: '?codetype=a', fields: ['codetype'] },
    { query: '?codeType[]=a', fields: ['codeType[]'] },
    { query: '?__proto__=a&constructor=b', fields: ['__proto__', 'constructor'] },
    { query: '?toString=a&codeType=&other=b', fields: ['toString', 'codeType', 'other'] },
    { query: '?prototype=a', fields: ['prototype'] },
    { query: '?=5', fields: [''] },
    { query: '?a=1&codeType=&code=%01&b=2', fields: ['code', 'a', 'b', 'codeType'] },
    { query: `?code=${'x'.repeat(257)}%01`, fields: ['code', 'code'] },
    { query: `?code=${encodeURIComponent('a\ufe0f'.repeat(129))}`, fields: ['code'] }, // 258 characters
    { query: '?code=a&%63ode=b', fields: ['code'] },
    { query: `?${'code=%ff&'.repeat(1_000)}${'%ff&'.repeat(1_000)}codeType=`, fields: ['%ff', 'code', 'codeType'] },
    { query: `?${'&'.repeat(2_000)}code=`, fields: ['code'] },
  ])('refuses $query, and names every fault', async ({ query, fields }) => {
    const { issues = [] } = expectProblem(await world.get(CODES + query), 'invalid-query');
    expect(issues.map(({ field, location }) => `${location} ${field}`).toSorted()).toEqual(
      fields.map((field) => `query ${field}`).toSorted(),
    );
  });

  it('says that a parameter has no name', async () => {
    const [issue] = await issuesOf('=5');
    expect(issue?.description).toBe('A parameter has no name: only codeType and code are known.');
  });

  it('asks whether a similar name was meant', async () => {
    const hints = new Map(['codetype', 'code_type', 'CODE-TYPE', 'cod', 'entirely'].map((name) => [name, '']));
    for (const { field, description } of await issuesOf([...hints.keys()].join('=a&')))
      hints.set(field, description.split('known.')[1]?.trim() ?? '');
    expect(Object.fromEntries(hints)).toEqual({
      codetype: 'Did you mean codeType?',
      code_type: 'Did you mean codeType?',
      'CODE-TYPE': 'Did you mean codeType?',
      cod: '',
      entirely: '',
    });
  });

  it('names 20 faults at most', async () => {
    const names = Array.from({ length: 50 }, (_, at) => `p${at}=1`);
    expect(await issuesOf(names.join('&'))).toHaveLength(20);
  });
});

it.each([PATHS.orderUpdate, PATHS.orderCaptureV2])('%s ignores parameters', async (path) => {
  const plain = await world.get(path);
  for (const query of ['?', '?code=a&codeType=', '?x=1&__proto__=2']) {
    expect(await world.get(path + query)).toMatchObject({ status: 200, text: plain.text });
  }
});

const issuesOf = async (query: string) => {
  const reply = await world.get(`${CODES}?${query}`);
  return expectProblem(reply, 'invalid-query').issues as NonNullable<ProblemBody['issues']>;
};

describe('a key or a token in the query', () => {
  it('is not repeated in an answer, also not if it is the name of a parameter', async () => {
    for (const credential of [world.key.key, world.token]) {
      for (const query of [`key=${credential}`, `code=%zz&code=${credential}`, credential, `${credential}=1`]) {
        const reply = await world.get(`${CODES}?${query}`);
        expectProblem(reply, 'invalid-query');
        expect(reply.text).not.toContain(credential.slice(0, 30));
      }
    }
  });
});

describe('an issue', () => {
  it.each([
    { query: 'filter=a%20b', field: 'filter', value: undefined },
    { query: 'code=a&code=b+c', field: 'code', value: 'a, b c' },
    { query: 'codeType=', field: 'codeType', value: '' },
    { query: 'code=a%01', field: 'code', value: 'a\u0001' },
    { query: 'code=%zz', field: 'code', value: undefined },
    { query: 'code=a&code=%zz', field: 'code', value: undefined },
    { query: 'code=ols_a%01', field: 'code', value: undefined },
    { query: `codeType=eyJ${'a'.repeat(300)}`, field: 'codeType', value: undefined },
  ])('of $query shows what was sent for a filter', async ({ query, field, value }) => {
    const [issue, ...others] = await issuesOf(query);
    expect(others).toEqual([]);
    expect([issue?.field, issue?.value]).toEqual([field, value]);
  });

  it.each([0, 1])('shows 256 characters, and no half of a surrogate pair: %i', async (offset) => {
    const text = 'x'.repeat(offset) + '𝄞'.repeat(300);
    const shown = 'x'.repeat(offset) + '𝄞'.repeat(128 - offset);
    const sent = encodeURIComponent(text);
    expect(await issuesOf(`code=${sent}`)).toMatchObject([{ field: 'code', value: shown }]);
    expect(await issuesOf(`${sent}=1`)).toMatchObject([{ field: shown }]);
  });

  it('counts 256 characters beyond the basic plane as 256', async () => {
    const query = (count: number): string => `code=${encodeURIComponent('𝄞'.repeat(count))}`;
    expect((await world.get(`${CODES}?${query(256)}`)).status).toBe(200);
    const [issue] = await issuesOf(query(257));
    expect(issue?.description).toBe('code has more than 256 characters.');
  });
});

describe.each(ALL_PATHS)('%s', (path) => {
  it('answers HEAD like GET without the body', async () => {
    const [get, head] = [await world.get(path), await world.get(path, { method: 'HEAD' })];
    expect(head).toMatchObject({ status: 200, text: '' });
    for (const name of ['content-type', 'content-length', 'etag', 'cache-control'])
      expect(head.headers.get(name)).toBe(get.headers.get(name));
  });

  it('answers OPTIONS with the methods that it allows, without credentials', async () => {
    const headers = { 'Api-Key': undefined, Authorization: undefined };
    const reply = await world.get(path, { method: 'OPTIONS', headers });
    expect([reply.status, reply.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS']);
  });

  it('answers 304 to its entity tag, in a list, weak or as *', async () => {
    const etag = (await world.get(path)).headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const reply = await world.get(path, { headers: { 'If-None-Match': tag } });
      expect(reply).toMatchObject({ status: 304, text: '' });
      expect(reply.headers.get('etag')).toBe(etag);
      expect(reply.headers.get('cache-control')).toBe('private, max-age=0, stale-if-error=86400');
    }
    for (const tag of ['"other"', '"a,*,b"', `"a,${etag.replaceAll('"', '')},b"`])
      expect((await world.get(path, { headers: { 'If-None-Match': tag } })).status).toBe(200);
  });

  it('answers 404 at its address in capitals, or followed by more', async () => {
    for (const other of [`${path}/`, `${path}/x`, `${path}%20`, path.toUpperCase()])
      expectProblem(await world.get(other), 'not-found');
  });
});
