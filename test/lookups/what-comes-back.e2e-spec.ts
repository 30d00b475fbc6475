// Issues show what was sent, except what looks like a credential that got into the wrong place.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { issueKey } from '../support/keys.js';
import { PATHS } from '../support/paths.js';
import { type ProblemBody, expectProblem } from '../support/problem.js';
import { until } from '../support/service.js';
import { World } from '../support/world.js';

const PATH = PATHS.communicationCodes;
const FOREIGN = 'Key-Of-Another-System-7';

let world: World;
beforeAll(async () => {
  world = await World.create({}, (database) => issueKey(database, { key: FOREIGN }));
});
afterAll(() => world?.close());

const issuesOf = async (query: string, key = world.key.key): Promise<ProblemBody['issues']> =>
  expectProblem(
    await world.get(`${PATH}?${query}`, { headers: { 'Api-Key': key } }),
    'invalid-query',
  ).issues;

const everyOther = (text: string): string =>
  Array.from(text, (character, at) =>
    at % 2 ? character : `%${character.charCodeAt(0).toString(16)}`,
  ).join('');

describe('a key or a token in the query', () => {
  const spellings: [string, (credential: string) => string][] = [
    ['as it is', (credential) => credential],
    ['in upper case', (credential) => credential.toUpperCase()],
    ['in lower case', (credential) => credential.toLowerCase()],
    ['percent-encoded', everyOther],
    ['percent-encoded twice', (credential) => encodeURIComponent(everyOther(credential))],
    ['in the middle', (credential) => `x${credential}y`],
    ['behind 300 characters', (credential) => 'x'.repeat(300) + credential],
    ['before broken encoding', (credential) => `${credential}%zz`],
    ['behind broken encoding', (credential) => `%${credential}`],
    ['with its beginning eaten by a broken escape', (credential) => `%c3%a${credential}`],
    ['without its beginning', (credential) => credential.slice(7)],
    ['encoded beside broken encoding', (credential) => `${everyOther(credential)}%C3`],
    ['without its end', (credential) => credential.slice(0, 40)],
  ];
  const places = [
    (text: string) => text,
    (text: string) => `${text}=1`,
    (text: string) => `key=${text}`,
    (text: string) => `code=a&code=${text}`,
    (text: string) => `code=%00${text}`,
    (text: string) => `${text}=${text}`,
  ];

  it.each(spellings)('comes back nowhere: %s', async (_name, spell) => {
    for (const credential of [world.key.key, world.token]) {
      const secret = [...credential.matchAll(/[\w-]{16}/g)].map(([piece]) => piece.toLowerCase());
      for (const place of places) {
        const query = place(spell(credential));
        const { text } = await world.get(`${PATH}?${query}`);
        const decoded = decodeURIComponent(text.replaceAll(/%(?![0-9a-f]{2})/gi, '%25'));
        for (const shown of [text, decoded])
          expect(secret.filter((piece) => shown.toLowerCase().includes(piece))).toEqual([]);
        expect(world.service.output).not.toContain(credential.slice(0, 30));
      }
    }
  });

  it('of another system appears in no reply to a request that carries it', async () => {
    await until(async () => {
      const { status } = await world.get(PATH, { headers: { 'Api-Key': FOREIGN } });
      return status === 200;
    });
    for (const text of [FOREIGN, FOREIGN.toLowerCase(), everyOther(FOREIGN), `${FOREIGN}%zz`])
      expect(JSON.stringify(await issuesOf(`x=${text}&${text}=x`, FOREIGN))).not.toMatch(
        /another-system|%/i,
      );
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
  it.each<[string, { field: string; value: string }[]]>([
    ['filter=a%20b', [{ field: 'filter', value: 'a b' }]],
    ['filter', [{ field: 'filter', value: '' }]],
    ['code=%C3%28x', [{ field: 'code', value: '%C3%28x' }]],
    ['%zz=1', [{ field: '%zz', value: '1' }]],
    ['code=a&code=b+c', [{ field: 'code', value: 'b c' }]],
    ['codeType=', [{ field: 'codeType', value: '' }]],
  ])('of %s shows what was sent', async (query, shown) => {
    const issues = await issuesOf(query);
    expect(issues?.map(({ field, value }) => ({ field, value }))).toEqual(shown);
  });

  it.each([0, 1])('shows 256 characters, and no half of a surrogate pair: %i', async (offset) => {
    const text = 'x'.repeat(offset) + '𝄞'.repeat(300);
    for (const query of [`code=${encodeURIComponent(text)}`, `${encodeURIComponent(text)}=1`]) {
      const [issue] = (await issuesOf(query)) ?? [];
      const shown = query.startsWith('code=') ? (issue?.value ?? '') : (issue?.field ?? '');
      expect(text.startsWith(shown)).toBe(true);
      expect(shown).toHaveLength(256 - offset);
      expect(shown).not.toMatch(/\p{Surrogate}/u);
    }
  });

  it('takes 256 characters beyond the basic plane for 256', async () => {
    const query = (count: number): string => `code=${encodeURIComponent('𝄞'.repeat(count))}`;
    expect((await world.get(`${PATH}?${query(256)}`)).status).toBe(200);
    expect((await issuesOf(query(257)))?.[0]?.description).toBe(
      'code has more than 256 characters.',
    );
  });
});
