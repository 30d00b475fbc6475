import { describe, expect, it } from '@jest/globals';
import { localWorld } from '../support/local-world.js';
import { type ProblemBody, expectProblem } from '../support/problem.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';

const CODES = PATHS.communicationCodes;

const world = localWorld();

/** The communication codes of the database of each world, as test/support/world.ts inserts them. */
const SAMPLE_RECORDS = [
  { codeType: 'SAMPLE-STATUS', code: 'S1', description: 'Sample: order received' },
  { codeType: 'SAMPLE-STATUS', code: 'S2', description: 'Sample: "on the way" – größer' },
  { codeType: 'SAMPLE-USAGE', code: 'S1', description: 'Sample: same code, other type' },
  { codeType: 'SAMPLE-USAGE', code: 'a\\b"c', description: 'Sample: special characters' },
  { codeType: 'SAMPLE-usage', code: 'é𝄞', description: 'Sample: beyond ASCII' },
];
describe(`GET ${CODES}`, () => {
  it.each([
    { what: 'no query', query: '', indexes: [0, 1, 2, 3, 4] },
    { what: 'an empty query', query: '?', indexes: [0, 1, 2, 3, 4] },
    { what: 'a type', query: '?codeType=SAMPLE-STATUS', indexes: [0, 1] },
    { what: 'a type in capitals', query: '?codeType=SAMPLE-USAGE', indexes: [2, 3] },
    { what: 'the same type in lower case', query: '?codeType=SAMPLE-usage', indexes: [4] },
    { what: 'a code of two types', query: '?code=S1', indexes: [0, 2] },
    { what: 'a type and a code', query: '?codeType=SAMPLE-USAGE&code=S1', indexes: [2] },
    { what: 'a code, a type and an ampersand', query: '?code=S1&codeType=SAMPLE-STATUS&', indexes: [0] },
    { what: 'a quote and a backslash', query: `?code=${encodeURIComponent('a\\b"c')}`, indexes: [3] },
    { what: 'characters beyond ASCII', query: `?code=${encodeURIComponent('é𝄞')}`, indexes: [4] },
    { what: 'a type in other capitals', query: '?codeType=sample-status', indexes: [] },
    { what: 'the beginning of a type', query: '?codeType=SAMPLE', indexes: [] },
    { what: 'a space before a type', query: '?codeType=+SAMPLE-STATUS', indexes: [] },
    { what: 'an unknown type and a known code', query: '?codeType=zzz&code=S1', indexes: [] },
    { what: 'an unknown code beyond the basic plane', query: `?code=${encodeURIComponent('\u{10000}')}`, indexes: [] },
    { what: 'an unknown code', query: '?code=0', indexes: [] },
  ])('answers with the records that match exactly, in their order: $what', async ({ query, indexes }) => {
    const text = JSON.stringify({ communicationRecords: indexes.map((index) => SAMPLE_RECORDS[index]) });
    expect(await world.get(CODES + query)).toMatchObject({ status: 200, text });
  });

  it.each([
    { what: 'an empty value', query: '?codeType=', faults: ['codeType: is empty'] },
    { what: 'no value', query: '?codeType', faults: ['codeType: is empty'] },
    { what: 'a filter twice', query: '?codeType=a&codeType=a', faults: ['codeType: more than once'] },
    { what: 'a value that is too long', query: `?code=${'x'.repeat(257)}`, faults: ['code: more than 256 characters'] },
    { what: 'the character U+0000', query: '?code=a%00b', faults: ['code: control characters'] },
    { what: 'the character U+007F', query: '?code=a%7f', faults: ['code: control characters'] },
    { what: 'a percent sign before letters', query: '?code=%zz', faults: ['code: percent-encoding'] },
    {
      what: 'several faults, one of them invalid UTF-8',
      query: '?codeType=&code=%C3%28&other=%',
      faults: ['codeType: is empty', 'code: percent-encoding', 'other: no such parameter'],
    },
    { what: 'a surrogate in UTF-8', query: '?code=%ED%A0%80', faults: ['code: percent-encoding'] },
    { what: 'a percent sign before letters in a name', query: '?%zz=1', faults: ['%zz: no such parameter'] },
    {
      what: 'an unknown parameter 1,500 times',
      query: `?${'a=1&'.repeat(1_500)}code=`,
      faults: ['a: no such parameter', 'code: is empty'], // Express would drop `code` after 1,000 parameters
    },
    { what: 'a name in other capitals', query: '?codetype=a', faults: ['codetype: no such parameter'] },
    { what: 'a name with brackets', query: '?codeType[]=a', faults: ['codeType[]: no such parameter'] },
    {
      what: 'names of members that every object has',
      query: '?__proto__=a&constructor=b',
      faults: ['__proto__: no such parameter', 'constructor: no such parameter'],
    },
    {
      what: 'the name of a member of every object, among other faults',
      query: '?toString=a&codeType=&other=b',
      faults: ['toString: no such parameter', 'codeType: is empty', 'other: no such parameter'],
    },
    { what: 'the name prototype', query: '?prototype=a', faults: ['prototype: no such parameter'] },
    { what: 'a parameter without a name', query: '?=5', faults: [': has no name'] },
    {
      what: 'faults of filters between unknown parameters',
      query: '?a=1&codeType=&code=%01&b=2',
      faults: ['code: control characters', 'a: no such parameter', 'b: no such parameter', 'codeType: is empty'],
    },
    {
      what: 'two faults of one value',
      query: `?code=${'x'.repeat(257)}%01`,
      faults: ['code: more than 256 characters', 'code: control characters'],
    },
    {
      what: '258 characters that look like 129',
      query: `?code=${encodeURIComponent('a\ufe0f'.repeat(129))}`,
      faults: ['code: more than 256 characters'],
    },
    {
      what: 'a filter twice, once with a percent-encoded name',
      query: '?code=a&%63ode=b',
      faults: ['code: more than once'],
    },
    {
      what: '2,000 parameters with invalid UTF-8',
      query: `?${'code=%ff&'.repeat(1_000)}${'%ff&'.repeat(1_000)}codeType=`,
      faults: ['%ff: no such parameter', 'code: more than once', 'codeType: is empty'],
    },
    { what: '2,000 ampersands', query: `?${'&'.repeat(2_000)}code=`, faults: ['code: is empty'] },
  ])('refuses a query, and names all of its faults: $what', async ({ query, faults }) => {
    const { detail, issues = [] } = expectProblem(await world.get(CODES + query), 'invalid-query');
    expect(detail).toMatch(issues.length === 1 ? /^1 fault in/ : `${issues.length} faults in`);
    const found = issues.map(({ field, description }) => `${field}: ${findFault(description)}`);
    expect(found.toSorted()).toEqual(faults.toSorted());
    for (const { location } of issues) expect(location).toBe('query');
  });

  /** Returns the words of the description that name the fault. */
  function findFault(description: string): string | undefined {
    const words =
      /is empty|more than once|more than 256 characters|control characters|percent-encoding|no such parameter|has no name/;
    return words.exec(description)?.[0];
  }

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
    const { detail, issues } = expectProblem(await world.get(`${CODES}?${names.join('&')}`), 'invalid-query');
    expect(issues).toHaveLength(20);
    expect(detail).toMatch(/^More than 20 faults in/);
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
  it('is never repeated in the answer, not even if it is the name of a parameter', async () => {
    for (const credential of [world.key.key, world.token]) {
      for (const query of [`key=${credential}`, `code=%zz&code=${credential}`, credential, `${credential}=1`]) {
        const reply = await world.get(`${CODES}?${query}`);
        expectProblem(reply, 'invalid-query');
        expect(reply.text).not.toContain(credential.slice(0, 30)); // only the beginning, because issues cut long texts
      }
    }
  });
});

describe('an issue', () => {
  it.each([
    { what: 'no value of an unknown parameter', query: 'filter=a%20b', field: 'filter', value: undefined },
    { what: 'both values of a filter that comes twice', query: 'code=a&code=b+c', field: 'code', value: 'a, b c' },
    { what: 'an empty value', query: 'codeType=', field: 'codeType', value: '' },
    { what: 'a control character', query: 'code=a%01', field: 'code', value: 'a\u0001' },
    { what: 'no value that cannot be decoded', query: 'code=%zz', field: 'code', value: undefined },
    { what: 'no value if one of two cannot be decoded', query: 'code=a&code=%zz', field: 'code', value: undefined },
    { what: 'no value like an API key', query: 'code=ols_a%01', field: 'code', value: undefined },
    { what: 'no value like a token', query: `codeType=eyJ${'a'.repeat(300)}`, field: 'codeType', value: undefined },
  ])('shows $what', async ({ query, field, value }) => {
    const [issue, ...others] = await issuesOf(query);
    expect(others).toEqual([]);
    expect([issue?.field, issue?.value]).toEqual([field, value]);
  });

  it.each([0, 1])(
    'shows at most 256 UTF-16 units, never half of a surrogate pair: %i letters, then pairs',
    async (letters) => {
      const text = 'x'.repeat(letters) + '𝄞'.repeat(300);
      const shown = 'x'.repeat(letters) + '𝄞'.repeat(128 - letters);
      const sent = encodeURIComponent(text);
      expect(await issuesOf(`code=${sent}`)).toMatchObject([{ field: 'code', value: shown }]);
      expect(await issuesOf(`${sent}=1`)).toMatchObject([{ field: shown }]);
    },
  );

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

  it('answers OPTIONS without credentials, and names the methods that it allows', async () => {
    const headers = { 'Api-Key': undefined, Authorization: undefined };
    const reply = await world.get(path, { method: 'OPTIONS', headers });
    expect([reply.status, reply.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS']);
  });

  it('answers 304 to its entity tag, also weak or in a list, and to *', async () => {
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

  it('answers 404 at its path in capitals, or with more at the end', async () => {
    for (const other of [`${path}/`, `${path}/x`, `${path}%20`, path.toUpperCase()])
      expectProblem(await world.get(other), 'not-found');
  });
});
