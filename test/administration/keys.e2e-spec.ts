import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hasValidChecksum, hashApiKey } from '../../src/auth/api-keys/api-key.js';
import { type TestDatabase, createDatabase } from '../support/database.js';
import { run } from '../support/program.js';

interface Issued {
  id: string;
  client: string;
  key: string;
  expiresAt: string | null;
}
interface Stored {
  client: string;
  hash: string;
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
}

const DAY_MS = 86_400_000;
let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

const keys = (...words: string[]) => run('keys.js', words, { DATABASE_URL: database.url });
const jsonOf = async <T = Issued>(...words: string[]) =>
  JSON.parse((await keys(...words, '--json')).stdout) as T;
const issue = (...words: string[]) => jsonOf('issue', '--client', ...words);
const stored = async (id: string): Promise<Stored> => {
  const [row] = await database.query<Stored>(
    `select client, encode(key_hash, 'hex') as hash, created_at, expires_at, revoked_at from api_key where id = $1`,
    [id],
  );
  if (!row) throw new Error(`no key ${id}`);
  return row;
};
const set = (id: string, column: string, sql: string) =>
  database.query(`update api_key set ${column} = ${sql} where id = $1`, [id]);
/** Whether a moment is so many days from now, within a minute. */
const expectIn = (days: number, moment: Date | string | null | undefined): void =>
  expect(Math.abs(Number(new Date(moment ?? '')) - Date.now() - days * DAY_MS)).toBeLessThan(
    60_000,
  );

describe('keys issue', () => {
  it('prints the key as one line of JSON and stores its hash alone', async () => {
    const { status, stdout, stderr } = await keys('issue', '--client', 'Acme TMS', '--json');
    expect({ status, stderr, lines: stdout.split('\n').length }).toEqual({
      status: 0,
      stderr: '',
      lines: 2,
    });
    const issued = JSON.parse(stdout) as Issued;
    expect(issued).toEqual({
      id: expect.any(String),
      client: 'Acme TMS',
      key: expect.any(String),
      expiresAt: null,
    });
    expect(hasValidChecksum(issued.key)).toBe(true);
    expect(await stored(issued.id)).toMatchObject({
      client: 'Acme TMS',
      hash: hashApiKey(issued.key),
      expires_at: null,
      revoked_at: null,
    });
  });

  it.each([
    ['90d', 90],
    ['12h', 0.5],
    ['5m', 5 / 1440],
  ])('lets it expire after %s', async (duration, days) => {
    const { id, expiresAt } = await issue('c', '--expires-in', duration);
    expectIn(days, expiresAt);
    expect((await stored(id)).expires_at?.toISOString()).toBe(expiresAt);
  });

  it.each([
    [[]],
    [['--client', '']],
    [['--client', ' padded']],
    [['--client', 'x'.repeat(129)]],
    [['--client', 'a\nb']],
    [['--client', 'c', '--expires-in', '0d']],
    [['--client', 'c', '--expires-in', '90']],
    [['--client', 'c', '--expires-in', '-1d']],
    [['--client', 'c', '--expires-in', '9constructor']],
    [['--client', 'c', '--expires-in', '99999y']],
    [['--client', 'c', 'extra']],
    [['--client', 'c', '--flag']],
    [['--client', 'c', '--sql']],
  ])('refuses %j with status 1 and says why', async (words) => {
    const { status, stdout, stderr } = await keys('issue', ...words);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/\S/);
    expect(stderr).not.toMatch(/^ {4}at /m);
  });
});

describe('keys list', () => {
  it('shows each key with state, creation, expiry and last use, never a key or a hash; with --expiring those that end', async () => {
    const active = await issue('list-a');
    const ended = await issue('list-b', '--expires-in', '9d');
    const expired = await issue('list-c', '--expires-in', '9d');
    const ending = await issue('list-d');
    const soon = await issue('list-e', '--expires-in', '9d');
    await keys('revoke', ended.id);
    await set(expired.id, 'created_at', `now() - interval '2 days'`);
    await set(expired.id, 'expires_at', `now() - interval '1 day'`);
    await set(ending.id, 'revoked_at', `now() + interval '20 days'`);
    await database.query(`insert into api_key_use values ($1, '2026-11-21T08:00Z')`, [active.id]);

    type Listed = { client: string; state: string; lastUsedAt: string | null }[];
    const ours = (listed: Listed) => listed.filter(({ client }) => client.startsWith('list-'));
    expect(
      ours(await jsonOf<Listed>('list')).map(
        (row) => `${row.client} ${row.state} ${row.lastUsedAt}`,
      ),
    ).toEqual([
      'list-a in force 2026-11-21T08:00:00.000Z',
      'list-b ended null',
      'list-c expired null',
      'list-d ends null',
      'list-e in force null',
    ]);
    for (const [within, clients] of [
      ['30d', ['list-d', 'list-e']],
      ['10d', ['list-e']],
      ['8d', []],
    ] as const)
      expect(
        ours(await jsonOf<Listed>('list', '--expiring', within)).map(({ client }) => client),
      ).toEqual(clients);

    const { stdout } = await keys('list');
    for (const secret of [active.key, hashApiKey(active.key)]) expect(stdout).not.toContain(secret);
    for (const line of [
      `${active.id} +in force +created \\S+Z +no expiry +used 2026-11-21T08:00:00.000Z  list-a`,
      `${ended.id} +ended +created \\S+Z +expires \\S+Z +never used +list-b`,
      `${ending.id} +ends \\S+Z +created \\S+Z +no expiry +never used +list-d`,
      `${soon.id} +in force +created \\S+Z +expires \\S+Z +never used +list-e`,
    ])
      expect(stdout).toMatch(new RegExp(`^${line}$`, 'm'));
    expect(await keys('list', '--expiring', 'soon')).toMatchObject({ status: 1, stdout: '' });
  });
});

describe('keys revoke', () => {
  it('ends a key now and says what was so before, and keeps the first time', async () => {
    const { id } = await issue('c');
    const said = (text: string) => ({ status: 0, stdout: `The key ${id} ${text}\n`, stderr: '' });
    await set(id, 'revoked_at', `'2999-01-01Z'`);
    expect(await keys('revoke', id.toUpperCase())).toEqual(
      said('is revoked. Its end was set for 2999-01-01T00:00:00.000Z.'),
    );
    const first = (await stored(id)).revoked_at;
    expect(first?.getTime()).toBeLessThanOrEqual(Date.now());
    expect(await keys('revoke', id)).toEqual(said(`ended at ${first?.toISOString()} already.`));
    expect((await stored(id)).revoked_at).toEqual(first);
  });

  it('accepts no unknown key, and repeats no word that could be a key', async () => {
    for (const word of ['00000000-0000-4000-8000-000000000000', 'ols_x'])
      expect(await keys('revoke', word)).toEqual({
        status: 1,
        stdout: '',
        stderr: 'There is no key of this id: keys list shows the ids.\n',
      });
    expect(await keys('revoke')).toMatchObject({ status: 1, stdout: '' });
  });
});

describe('keys rotate', () => {
  it('issues a second key with the lifetime of the first, and sets the end of the first; a second rotation is refused', async () => {
    const first = await issue('Acme TMS', '--expires-in', '90d');
    await set(first.id, 'created_at', `created_at - interval '30 days'`);
    const second = await jsonOf<Issued & { former: { id: string; endsAt: string } }>(
      'rotate',
      first.id,
      '--overlap',
      '2d',
    );
    const { revoked_at: end } = await stored(first.id);
    expect(second.former).toEqual({ id: first.id, endsAt: end?.toISOString() });
    expectIn(2, end);
    expectIn(120, second.expiresAt);
    expect(await stored(second.id)).toMatchObject({
      client: 'Acme TMS',
      hash: hashApiKey(second.key),
      expires_at: new Date(second.expiresAt ?? ''),
      revoked_at: null,
    });
    expect(await keys('rotate', first.id, '--overlap', '9d')).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringContaining('is being rotated'),
    });
    expect((await stored(first.id)).revoked_at).toEqual(end);
  });

  it.each([
    ['no end as the first', [], null],
    ['the end that is asked for', ['--expires-in', '3d'], 3],
  ])('gives the second key %s', async (_, words, days) => {
    const { expiresAt } = await jsonOf('rotate', (await issue('c')).id, ...words);
    if (days === null) expect(expiresAt).toBeNull();
    else expectIn(days, expiresAt);
  });

  it('succeeds once where two rotate the same key at once', async () => {
    const { id } = await issue('twice');
    const outcomes = await Promise.all([keys('rotate', id), keys('rotate', id)]);
    expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set([0, 1]));
    expect(await database.query(`select from api_key where client = 'twice'`)).toHaveLength(2);
  });

  it('refuses a key that has ended', async () => {
    const { id } = await issue('c');
    await keys('revoke', id);
    expect(await keys('rotate', id)).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/ended at .*\. To issue another: keys issue --client "c"/),
    });
  });
});
