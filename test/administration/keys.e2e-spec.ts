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
  expires_at: Date | null;
  revoked_at: Date | null;
}

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

const keys = (...words: string[]) => run('keys.js', words, { DATABASE_URL: database.url });
const issue = async (...words: string[]) =>
  JSON.parse((await keys('issue', '--json', ...words)).stdout) as Issued;
const stored = async (id: string): Promise<Stored | undefined> =>
  (
    await database.query<Stored>(
      `select client, encode(key_hash, 'hex') as hash, expires_at, revoked_at from api_key where id = $1`,
      [id],
    )
  )[0];

describe('keys issue', () => {
  it('prints the key as one line of JSON and stores its hash alone', async () => {
    const { status, stdout, stderr } = await keys('issue', '--client', 'Acme TMS', '--json');
    const issued = JSON.parse(stdout) as Issued;
    expect({ status, stderr, lines: stdout.split('\n').length }).toEqual({
      status: 0,
      stderr: '',
      lines: 2,
    });
    expect(issued).toEqual({
      id: expect.any(String),
      client: 'Acme TMS',
      key: expect.any(String),
      expiresAt: null,
    });
    expect(hasValidChecksum(issued.key)).toBe(true);
    expect(await stored(issued.id)).toEqual({
      client: 'Acme TMS',
      hash: hashApiKey(issued.key),
      expires_at: null,
      revoked_at: null,
    });
  });

  it.each([
    ['90d', 90 * 86_400],
    ['12h', 12 * 3_600],
    ['5m', 300],
  ])('lets it expire after %s', async (duration, seconds) => {
    const { id, expiresAt } = await issue('--client', 'c', '--expires-in', duration);
    expect(Math.abs(Date.parse(expiresAt ?? '') - Date.now() - seconds * 1000)).toBeLessThan(
      60_000,
    );
    expect((await stored(id))?.expires_at?.toISOString()).toBe(expiresAt);
  });

  it('prints with --sql the INSERT, and the key beside it, without a database', async () => {
    const { status, stdout, stderr } = await run(
      'keys.js',
      ['issue', '--client', "O'Hara \\ Co", '--expires-in', '1d', '--sql'],
      {},
    );
    expect(status).toBe(0);
    const key = /ols_\S+/.exec(stderr)?.[0] ?? '';
    expect(stdout).not.toContain(key);
    await database.query(stdout);
    expect(
      await database.query(`select client from api_key where key_hash = decode($1, 'hex')`, [
        hashApiKey(key),
      ]),
    ).toEqual([{ client: "O'Hara \\ Co" }]);
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
    [['--client', 'c', '--expires-in', '99999y']],
    [['--client', 'c', 'extra']],
    [['--client', 'c', '--flag']],
    [['--client', 'c', '--json', '--sql']],
  ])('refuses %j with status 1 and says why', async (words) => {
    const { status, stdout, stderr } = await keys('issue', ...words);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/\S/);
    expect(stderr).not.toMatch(/^ {4}at /m);
  });
});

describe('keys list', () => {
  it('shows each key with state, expiry and last use, never a key or a hash', async () => {
    const [active, ended, ending] = [
      await issue('--client', 'list-a'),
      await issue('--client', 'list-b', '--expires-in', '9d'),
      await issue('--client', 'list-d'),
    ];
    await keys('revoke', ended.id);
    await database.query(
      `insert into api_key (client, key_hash, created_at, expires_at) values ('list-c', sha256('c'), now() - interval '2 days', now() - interval '1 day')`,
    );
    await database.query(`update api_key set revoked_at = '2999-01-01Z' where id = $1`, [
      ending.id,
    ]);
    await database.query(`insert into api_key_use values ($1, '2026-11-21T08:00Z')`, [active.id]);
    const { status, stdout } = await keys('list', '--json');
    const listed = (
      JSON.parse(stdout) as { client: string; state: string; lastUsedAt: string | null }[]
    ).filter(({ client }) => client.startsWith('list-'));
    expect(status).toBe(0);
    expect(listed.map((row) => `${row.client} ${row.state} ${row.lastUsedAt}`)).toEqual([
      'list-a in force 2026-11-21T08:00:00.000Z',
      'list-b ended null',
      'list-c expired null',
      'list-d ends null',
    ]);
    const text = (await keys('list')).stdout;
    for (const secret of [active.key, hashApiKey(active.key)])
      for (const output of [stdout, text]) expect(output).not.toContain(secret);
    for (const line of [
      `${active.id} +in force +no expiry +used 2026-11-21T08:00:00.000Z  list-a`,
      `${ended.id} +ended +expires \\S+Z +never used +list-b`,
      `${ending.id} +ends 2999-01-01T00:00:00.000Z +no expiry +never used +list-d`,
    ])
      expect(text).toMatch(new RegExp(`^${line}$`, 'm'));
  });
});

describe('keys revoke', () => {
  it('ends a key now and says what was so before, and keeps the first time', async () => {
    const { id } = await issue('--client', 'c');
    expect(await keys('revoke', id)).toEqual({
      status: 0,
      stdout: `The key ${id} is revoked. It had no end.\n`,
      stderr: '',
    });
    const first = (await stored(id))?.revoked_at;
    expect(await keys('revoke', id)).toEqual({
      status: 0,
      stdout: `The key ${id} was revoked at ${first?.toISOString()} already.\n`,
      stderr: '',
    });
    expect((await stored(id))?.revoked_at).toEqual(first);
  });

  it('ends a key now whose end was set for later', async () => {
    const { id } = await issue('--client', 'c');
    await database.query(`update api_key set revoked_at = '2999-01-01Z' where id = $1`, [id]);
    expect(await keys('revoke', id)).toMatchObject({
      status: 0,
      stdout: `The key ${id} is revoked. It was to end at 2999-01-01T00:00:00.000Z.\n`,
    });
    expect((await stored(id))?.revoked_at?.getTime()).toBeLessThanOrEqual(Date.now());
  });

  it('accepts no unknown key', async () => {
    const id = '00000000-0000-4000-8000-000000000000';
    expect(await keys('revoke', id)).toEqual({
      status: 1,
      stdout: '',
      stderr: `There is no key with the id ${id}: keys list shows the ids.\n`,
    });
    expect(await keys('revoke', 'x')).toMatchObject({ status: 1, stdout: '' });
    expect(await keys('revoke')).toMatchObject({ status: 1, stdout: '' });
  });
});

describe('keys rotate', () => {
  it('issues a second key and sets the end of the first', async () => {
    const first = await issue('--client', 'Acme TMS');
    const rotated = JSON.parse(
      (await keys('rotate', first.id, '--overlap', '2d', '--expires-in', '90d', '--json')).stdout,
    ) as Issued & { former: { id: string; endsAt: string } };
    const end = (await stored(first.id))?.revoked_at;
    expect(rotated.former).toEqual({ id: first.id, endsAt: end?.toISOString() });
    expect(Math.abs((end?.getTime() ?? 0) - Date.now() - 2 * 86_400_000)).toBeLessThan(60_000);
    expect(await stored(rotated.id)).toEqual({
      client: 'Acme TMS',
      hash: hashApiKey(rotated.key),
      expires_at: new Date(rotated.expiresAt ?? ''),
      revoked_at: null,
    });
    await keys('rotate', first.id, '--overlap', '9d');
    expect((await stored(first.id))?.revoked_at).toEqual(end); // never later than it was
  });

  it('refuses a key that has ended', async () => {
    const { id } = await issue('--client', 'c');
    await keys('revoke', id);
    expect(await keys('rotate', id)).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /was revoked at .* already\. Issue a new one: keys issue --client "c"/,
      ),
    });
  });
});
