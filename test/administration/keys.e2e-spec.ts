import { afterAll, expect, it } from '@jest/globals';
import { hasValidChecksum, hashApiKey } from '../../src/auth/api-keys/api-key.js';
import { createDatabase } from '../support/database.js';
import { run } from '../support/program.js';

interface Issued {
  id: string;
  client: string;
  key: string;
  expiresAt: string | null;
}

const database = await createDatabase();
afterAll(() => database.drop());

const keys = (...words: string[]) => run('keys.js', words, { DATABASE_URL: database.url });
const jsonOf = async <T = Issued>(...words: string[]) =>
  JSON.parse((await keys(...words, '--json')).stdout) as T;
const issue = (...words: string[]) => jsonOf('issue', '--client', ...words);
const set = (id: string, sql: string) =>
  database.query(`update api_key set ${sql} where id = $1`, [id]);
const stored = async (id: string) => {
  const [row] = await database.query<Record<'expires_at' | 'revoked_at', Date | null>>(
    `select client, encode(key_hash, 'hex') as hash, expires_at, revoked_at from api_key where id = $1`,
    [id],
  );
  return row;
};
/** That a moment is so many days after one between `begun` and now. */
function expectEnd(moment: Date | string | null | undefined, days: number, begun: number): void {
  const from = Number(new Date(moment ?? '')) - days * 86_400_000;
  expect(from).toBeGreaterThanOrEqual(begun);
  expect(from).toBeLessThanOrEqual(Date.now());
}
const failed = (why: RegExp) => ({ status: 1, stdout: '', stderr: expect.stringMatching(why) });

it('keys issue prints the key as one line of JSON and stores its hash alone', async () => {
  const { status, stdout, stderr } = await keys('issue', '--client', 'Acme TMS', '--json');
  expect([status, stderr, stdout.split('\n').length]).toEqual([0, '', 2]);
  const issued = JSON.parse(stdout) as Issued;
  const any = expect.any(String);
  expect(issued).toEqual({ id: any, client: 'Acme TMS', key: any, expiresAt: null });
  expect(hasValidChecksum(issued.key)).toBe(true);
  expect(await stored(issued.id)).toEqual({
    client: 'Acme TMS',
    hash: hashApiKey(issued.key),
    expires_at: null,
    revoked_at: null,
  });
});

it.each([
  ['90d', 90],
  ['5m', 5 / 1440],
])('keys issue lets it expire after %s, and says so', async (duration, days) => {
  const begun = Date.now();
  const { stdout } = await keys('issue', '--client', 'c', '--expires-in', duration);
  const [, id = '', end] = /^Its id is (\S+); it expires at (\S+Z)\.$/m.exec(stdout) ?? [];
  expectEnd(end, days, begun);
  expect((await stored(id))?.expires_at?.toISOString()).toBe(end);
});

it('keys issue says of a key without an end that it never ends', async () => {
  expect((await keys('issue', '--client', 'endless')).stdout).toMatch(/; it never ends\.$/m);
});

it.each([
  [['issue'], /--client is missing/],
  [['issue', '--client', ' padded'], /api_key_client_is_clean_text_of_128_characters/],
  [['issue', '--client', 'Ac\u200bme'], /^--client holds U\+200B, which nobody sees or types\./],
  [
    ['issue', '--client', 'c', '--expires-in', '0d'],
    /^--expires-in is "0d", no duration such as 90d \(m minutes, h hours, d days, w weeks, y years\)\.\n$/,
  ],
  [['issue', '--client', 'c', '--expires-in', '90'], /"90", no duration/],
  [['list', '--expiring', 'soon'], /^--expiring is "soon", no duration/],
  [
    ['revoke', '00000000-0000-4000-8000-000000000000'],
    /^There is no key of this id\. To see the ids: node dist\/keys\.js list\n$/,
  ],
  [['revoke', 'ols_x'], /^(?!.*ols_x)There is no key/],
])(
  'keys refuses %j with status 1 and says why, but not the word that could be a key',
  async (words, why) => {
    expect(await keys(...words)).toEqual(failed(why));
  },
);

it('keys list shows each key with its state and moments, never a key or a hash', async () => {
  const all: Issued[] = [];
  for (const letter of 'abcde') {
    const end = 'bce'.includes(letter) ? ['--expires-in', '9d'] : [];
    all.push(await issue(`list-${letter}`, ...end));
  }
  const idOf = (letter: string) => all.find(({ client }) => client === `list-${letter}`)?.id ?? '';
  const [active, ended, expired, ending] = ['a', 'b', 'c', 'd'].map(idOf) as [
    string,
    string,
    string,
    string,
  ];
  await keys('revoke', ended);
  await set(expired, `created_at = now() - interval '2 d', expires_at = now() - interval '1 d'`);
  await set(ending, `revoked_at = now() + interval '20 d'`);
  await database.query(`insert into api_key_use values ($1, '2026-11-21T08:00Z')`, [active]);

  type Listed = { client: string; state: string; lastUsedAt: string | null }[];
  const listed = async (...words: string[]) =>
    (await jsonOf<Listed>('list', ...words))
      .filter(({ client }) => client.startsWith('list-'))
      .map(({ client, state, lastUsedAt }) => `${client.slice(5)} ${state} ${lastUsedAt}`);
  const rotated = 'd ends null';
  const temporary = 'e in force null';
  expect(await listed()).toEqual([
    'a in force 2026-11-21T08:00:00.000Z',
    'b ended null',
    'c expired null',
    rotated,
    temporary,
  ]);
  expect(await listed('--expiring', '10d')).toEqual([temporary]);
  expect(await listed('--expiring', '30d')).toEqual([rotated, temporary]);

  const { stdout } = await keys('list');
  for (const { key } of all) expect(stdout).not.toMatch(new RegExp(`${key}|${hashApiKey(key)}`));
  const [header = ''] = stdout.split('\n');
  expect(header).toMatch(/^id +state +created +ends +used +client$/);
  const revokedAt = (await stored(ended))?.revoked_at?.toISOString();
  for (const line of [
    `${active}  in force  \\S+Z  never {19}  2026-11-21T08:00:00.000Z  list-a`,
    `${ended}  ended {5}\\S+Z  ${revokedAt}  never {19}  list-b`,
    `${ending}  ends {6}\\S+Z  \\S+Z  never {19}  list-d`,
  ])
    expect(stdout).toMatch(new RegExp(`^${line}$`, 'm'));
});

it('keys list shows the keys of one client', async () => {
  await issue('of one');
  const { stdout } = await keys('list', '--client', 'of one');
  const header = expect.stringMatching(/^id /);
  expect(stdout.split('\n')).toEqual([header, expect.stringMatching(/ of one$/), '']);
  expect((await keys('list', '--client', 'nobody')).stdout).toBe('There are none.\n');
});

it('the help of keys says the units of a duration', async () => {
  const { stdout } = await keys('--help');
  expect(stdout).toContain('(m minutes, h hours, d days, w weeks, y years)');
});

it('keys revoke ends a key now, also one whose end is set for later, and keeps the first time', async () => {
  const { id } = await issue('c');
  await set(id, `revoked_at = '2999-01-01Z'`);
  const { stdout } = await keys('revoke', id.toUpperCase());
  const first = (await stored(id))?.revoked_at;
  expect(Number(first)).toBeLessThanOrEqual(Date.now());
  expect(stdout).toBe(`The key ${id} of c is revoked since ${first?.toISOString()}.\n`);
  expect((await keys('revoke', id)).stdout).toBe(stdout);
});

it('keys rotate issues a second key of the same lifetime, ends the first, and is refused a second time', async () => {
  type Rotated = Issued & { former: { id: string; endsAt: string } };
  const begun = Date.now();
  const first = await issue('Acme TMS', '--expires-in', '90d');
  await set(first.id, `created_at = created_at - interval '30 d'`);
  const second = await jsonOf<Rotated>('rotate', first.id, '--overlap', '2d');
  const end = (await stored(first.id))?.revoked_at;
  expect(second.former).toEqual({ id: first.id, endsAt: end?.toISOString() });
  expectEnd(end, 2, begun);
  expectEnd(second.expiresAt, 120, begun);
  const hash = hashApiKey(second.key);
  expect(await stored(second.id)).toMatchObject({ client: 'Acme TMS', hash, revoked_at: null });
  expect(await keys('rotate', first.id)).toEqual(failed(/or it has ended, or is being rotated/));
  expect((await stored(first.id))?.revoked_at).toEqual(end);

  const { id, former } = await jsonOf<Rotated>('rotate', (await issue('without end')).id);
  expect((await stored(id))?.expires_at).toBeNull();
  expectEnd(former.endsAt, 7, begun);
});

it('keys rotate succeeds once where two rotate the same key at once', async () => {
  const { id } = await issue('twice');
  const outcomes = await Promise.all([keys('rotate', id), keys('rotate', id)]);
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set([0, 1]));
  expect(await database.query(`select from api_key where client = 'twice'`)).toHaveLength(2);
});
