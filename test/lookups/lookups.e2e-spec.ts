import { describe, expect, it } from '@jest/globals';
import { issueKey } from '../support/keys.js';
import { type ProblemBody, expectProblem } from '../support/problem.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';
import { until } from '../support/service.js';
import { testWorld } from '../support/test-world.js';

const CODES = PATHS.communicationCodes;
/** A key that does not look like one, with a plus, which is a space in a form. */
const FOREIGN = 'Key+Of-Another-System-7';

const world = testWorld({}, (database) => issueKey(database, { key: FOREIGN }));

const RECORDS = [
  { codeType: 'SAMPLE-STATUS', code: 'S1', description: 'Sample: order received' },
  { codeType: 'SAMPLE-STATUS', code: 'S2', description: 'Sample: "on the way" – größer' },
  { codeType: 'SAMPLE-USAGE', code: 'S1', description: 'Sample: same code, other type' },
  { codeType: 'SAMPLE-USAGE', code: 'a\\b"c', description: 'Sample: special characters' },
  { codeType: 'SAMPLE-usage', code: 'é𝄞', description: 'Sample: beyond ASCII' },
];
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
    const text = JSON.stringify({ communicationRecords: indexes.map((index) => RECORDS[index]) });
    expect(await world.get(CODES + query)).toMatchObject({ status: 200, text });
  });

  it.each([
    ['?codeType=', ['codeType']],
    ['?codeType', ['codeType']],
    ['?codeType=a&codeType=a', ['codeType']],
    ['?codeType=a&codeType=%zz', ['codeType', 'codeType']],
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

  it('asks whether a similar name was meant', async () => {
    const issues = await issuesOf('codetype=a&cod=b&entirely=c');
    expect(issues.map(({ description }) => description.split('known.')[1]?.trim())).toEqual([
      'Did you mean codeType?',
      'Did you mean code?',
      '',
    ]);
  });

  it('names 20 faults at most', async () => {
    const names = Array.from({ length: 50 }, (_, at) => `p${at}=1`);
    expect(await issuesOf(names.join('&'))).toHaveLength(20);
  });
});

const issuesOf = async (query: string, key = world.key.key) => {
  const reply = await world.get(`${CODES}?${query}`, { headers: { 'Api-Key': key } });
  return expectProblem(reply, 'invalid-query').issues as NonNullable<ProblemBody['issues']>;
};
const everyOther = (text: string): string =>
  Array.from(text, (character, at) =>
    at % 2 ? character : `%${character.charCodeAt(0).toString(16)}`,
  ).join('');

describe('a key or a token in the query', () => {
  it.each<[string, (credential: string) => string]>([
    ['as it is', (credential) => credential],
    ['percent-encoded twice', (credential) => encodeURIComponent(everyOther(credential))],
    ['behind 300 characters', (credential) => 'x'.repeat(300) + credential],
    ['before broken encoding', (credential) => `${credential}%zz`],
  ])('comes back nowhere: %s', async (_name, spell) => {
    for (const credential of [world.key.key, world.token]) {
      const secret = [...credential.matchAll(/[\w-]{16}/g)].map(([piece]) => piece);
      const text = spell(credential);
      for (const query of [text, `${text}=1`, `key=${text}`, `code=a&code=%00${text}`]) {
        const reply = await world.get(`${CODES}?${query}`);
        const decoded = decodeURIComponent(reply.text.replaceAll(/%(?![0-9a-f]{2})/gi, '%25'));
        expect(secret.filter((piece) => (reply.text + decoded).includes(piece))).toEqual([]);
      }
      expect(world.service.output).not.toContain(credential.slice(0, 30));
    }
  });

  it('of another system appears in no reply to a request that carries it', async () => {
    const headers = { 'Api-Key': FOREIGN };
    await until(async () => (await world.get(CODES, { headers })).status === 200);
    const twice = encodeURIComponent(encodeURIComponent(FOREIGN));
    const once = [FOREIGN, FOREIGN.toUpperCase(), everyOther(FOREIGN), `x${FOREIGN}%zz`];
    for (const text of [...once, twice])
      expect(JSON.stringify(await issuesOf(`x=${text}&${text}=x`, FOREIGN))).not.toMatch(
        /another-system|%/i,
      );
    const other = await issuesOf(`x=${FOREIGN}&${FOREIGN}=x`);
    expect(JSON.stringify(other)).toMatch(/another-system/i); // nothing is remembered of a refused query
    expect(JSON.stringify(await issuesOf(`x=${FOREIGN}`, FOREIGN))).not.toMatch(/another-system/i);
  });

  it('leaves the rest of its issue as it is', async () => {
    expect(await issuesOf(`${world.key.key}=1&code=a&code=${world.token.slice(0, 200)}`)).toEqual([
      {
        description: 'There is no such parameter: only codeType and code are known.',
        field: '[left out]',
        location: 'query',
      },
      { description: 'code is given more than once.', field: 'code', location: 'query' },
    ]);
  });
});

describe('an issue', () => {
  it.each([
    ['filter=a%20b', 'filter', 'a b'],
    ['filter', 'filter', ''],
    ['code=%C3%28x', 'code', '%C3%28x'],
    ['%zz=1', '%zz', '1'],
    ['code=a&code=b+c', 'code', 'b c'],
    ['codeType=', 'codeType', ''],
  ])('of %s shows what was sent', async (query, field, value) => {
    expect(await issuesOf(query)).toMatchObject([{ field, value }]);
  });

  it.each([0, 1])('shows 256 characters, and no half of a surrogate pair: %i', async (offset) => {
    const text = 'x'.repeat(offset) + '𝄞'.repeat(300);
    const shown = 'x'.repeat(offset) + '𝄞'.repeat(128 - offset);
    const sent = encodeURIComponent(text);
    expect(await issuesOf(`code=${sent}`)).toMatchObject([{ field: 'code', value: shown }]);
    expect(await issuesOf(`${sent}=1`)).toMatchObject([{ field: shown, value: '1' }]);
  });

  it('takes 256 characters beyond the basic plane for 256', async () => {
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

  it('answers 304 to its entity tag, in a list, weak or as *', async () => {
    const etag = (await world.get(path)).headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const reply = await world.get(path, { headers: { 'If-None-Match': tag } });
      expect(reply).toMatchObject({ status: 304, text: '' });
      expect(reply.headers.get('etag')).toBe(etag);
      expect(reply.headers.get('cache-control')).toBe('private, max-age=0, stale-if-error=86400');
    }
    expect((await world.get(path, { headers: { 'If-None-Match': '"other"' } })).status).toBe(200);
  });

  it('has nothing at its address in other case, or before anything else', async () => {
    for (const other of [`${path}/`, `${path}/x`, `${path}%20`, path.toUpperCase()])
      expectProblem(await world.get(other), 'not-found');
  });
});
