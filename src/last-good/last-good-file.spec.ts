import { createHash } from 'node:crypto';
import {
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  readlink,
  rm,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type CodeRows, recordOf } from '../codes/code-rows.js';
import { type LastGood, readLastGood, writeLastGood } from './last-good-file.js';

const MOMENT = Date.UTC(9999, 11, 31);
const ALWAYS = { validFrom: -Infinity, validUntil: Infinity };
const VALIDITIES = [
  ALWAYS,
  { ...ALWAYS, validFrom: MOMENT },
  { ...ALWAYS, validUntil: -62_135_596_800_000 },
];
const HOLDER = { keyId: 'id', client: 'Grüße', expiresAt: Infinity, revokedAt: 0 };
const HEAD: LastGood = {
  source: 'db:5432/orders and https://login.example.com',
  aheadMs: -1.5,
  codesConfirmedAt: 1_000,
  keysConfirmedAt: 2_000.25,
  issuers: [
    {
      name: 'https://login.example.com',
      fetchedAt: 3_000,
      jwks: { keys: [{ kty: 'OKP', kid: 'k' }] },
    },
  ],
  keys: [
    ['00ff', HOLDER],
    ['ff00', { ...HOLDER, expiresAt: 5_000, revokedAt: Infinity }],
  ],
};

function rowsOf(count: number): CodeRows {
  const [types, codeList] = [new Map<string, string>(), 'l'];
  const property = { property: 'p', position: 1, codeList };
  const record = { codeType: 'T', description: 'é' };
  return {
    properties: ['order-update', 'order-capture-v2'].map((area) => ({ area, ...property })),
    values: VALIDITIES.map((validity, at) => {
      return { codeList, value: `${10 - at}`, position: at, ...validity };
    }),
    records: Array.from({ length: count }, (_, at) => {
      const validity = VALIDITIES[at % 3] ?? ALWAYS;
      return recordOf({ ...record, code: `"${at}"\\𝄞`, ...validity }, types);
    }),
  };
}

let folder: string;
let path: string;
const longAgo = new Date(Date.now() - 61_000);
const TEMPORARY = 'last-good.order-lookup-tmp';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'order-lookup-'));
  path = join(folder, 'last-good');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('LAST_GOOD_FILE', () => {
  it.each([0, 1, 2_500])('with %i codes gives back what was written', async (count) => {
    await writeLastGood(path, HEAD, rowsOf(count));
    expect(await readLastGood(path)).toEqual({ ...HEAD, rows: rowsOf(count) });
    expect((await lstat(path)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ version: 2 });
  });

  it('is refused however it is damaged', async () => {
    await writeLastGood(path, HEAD, rowsOf(30));
    const whole = await readFile(path);
    const at = fc.nat(whole.length - 1);
    const part = fc.uniqueArray(at, { minLength: 3, maxLength: 3 }).map((places) => {
      const [a = 0, b = 0, c = 0] = places.toSorted((one, other) => one - other);
      return [whole.subarray(0, a), whole.subarray(a, b), whole.subarray(b, c), whole.subarray(c)];
    });
    const none = Buffer.alloc(0);
    const damage = fc.oneof(
      fc.tuple(at, fc.nat(7)).map(([byte, bit]) => {
        const file = Buffer.from(whole);
        file[byte] = (file[byte] ?? 0) ^ (1 << bit);
        return file;
      }),
      at.map((length) => whole.subarray(0, length)),
      at.map((length) => whole.subarray(length + 1)),
      part.map(([a = none, b = none, c = none, d = none]) => Buffer.concat([a, c, b, d])), // swapped
      part.map(([a = none, b = none, c = none, d = none]) => Buffer.concat([a, b, b, c, d])), // twice
      at.map((from) => Buffer.concat([whole.subarray(0, from), Buffer.alloc(4_096)])), // as after a crash
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    );
    await fc.assert(
      fc.asyncProperty(damage, async (file) => {
        fc.pre(!file.equals(whole));
        await writeFile(path, file);
        await expect(readLastGood(path)).rejects.toThrow(/^it /);
      }),
      { numRuns: 300 },
    );
  });

  /** A file whose digest fits, whatever it holds. */
  const sealed = (content: object, version = 2): string => {
    const text = JSON.stringify(content);
    const digest = createHash('sha256').update(text).digest('hex');
    return `{"format":"order-lookup-services last good","version":${version},"content":${text},"sha256":"${digest}"}\n`;
  };
  const bare = { ...HEAD, rows: rowsOf(0) };

  it.each([
    ['empty', '', 'it does not begin as version 2 of its format does'],
    ['another file', '{"keys":[]}\n', 'it does not begin'],
    ['of another version', sealed(bare, 3), 'it does not begin'],
    [
      'without the properties of an area',
      sealed({ ...bare, rows: { ...bare.rows, properties: bare.rows.properties.slice(1) } }),
      'the area order-update has no property',
    ],
  ])('is refused where it is %s', async (_, content, reason) => {
    await writeFile(path, content);
    await expect(readLastGood(path)).rejects.toThrow(reason);
  });

  it('is refused unread where it is larger than any file of ours, or no file', async () => {
    await writeFile(path, '');
    await truncate(path, 300 * 1024 ** 2);
    await expect(readLastGood(path)).rejects.toThrow(/^it has more than \d+ bytes/);
    await expect(readLastGood('/dev/zero')).rejects.toThrow('it is not a file');
    await expect(readLastGood(folder)).rejects.toThrow('it is not a file');
    await expect(readLastGood(join(folder, 'none'))).rejects.toThrow('ENOENT');
  });

  it('stays as it was when a write fails half-way, and no temporary file is left', async () => {
    await writeLastGood(path, HEAD, rowsOf(1));
    const { records, ...rest } = rowsOf(3_000);
    const failing = { ...rest, records: [...records, 1n as never] };
    await expect(writeLastGood(path, HEAD, failing)).rejects.toThrow(TypeError);
    expect((await readLastGood(path)).rows).toEqual(rowsOf(1));
    expect(await readdir(folder)).toEqual(['last-good']);
  });

  it('is written by one process at a time; what a killed one left goes when it is old', async () => {
    await writeFile(join(folder, TEMPORARY), '');
    await expect(writeLastGood(path, HEAD, rowsOf(1))).rejects.toThrow('EEXIST');
    await utimes(join(folder, TEMPORARY), longAgo, longAgo);
    const writes = Array.from({ length: 5 }, () => writeLastGood(path, HEAD, rowsOf(3_000)));
    const outcomes = await Promise.allSettled(writes);
    expect(outcomes.some(({ status }) => status === 'fulfilled')).toBe(true);
    expect((await readLastGood(path)).rows).toEqual(rowsOf(3_000));
    expect(await readdir(folder)).toEqual(['last-good']);
  });

  it('takes no harm from files and folders of others beside it, and does none to them', async () => {
    const foreign = ['last-good.1.tmp', 'last-good.old', 'last-good.tmp', 'other'];
    for (const name of foreign) {
      await writeFile(join(folder, name), name);
      await utimes(join(folder, name), longAgo, longAgo);
    }
    await mkdir(join(folder, 'last-good.d'));
    await writeLastGood(path, HEAD, rowsOf(1));
    expect((await readLastGood(path)).rows).toEqual(rowsOf(1));
    const names = await readdir(folder);
    expect(names.toSorted()).toEqual([...foreign, 'last-good', 'last-good.d'].toSorted());
  });

  it.each(['to a file', 'to no file yet', 'in two steps'])(
    'that is a symbolic link %s is written where the link leads',
    async (kind) => {
      const target = join(folder, 'elsewhere', 'kept');
      await mkdir(join(folder, 'elsewhere'));
      if (kind === 'to a file') await writeFile(target, 'old');
      await symlink(kind === 'in two steps' ? 'step' : join('elsewhere', 'kept'), path);
      if (kind === 'in two steps') await symlink(target, join(folder, 'step'));
      await writeLastGood(path, HEAD, rowsOf(1));
      await readlink(path);
      expect((await lstat(target)).isFile()).toBe(true);
      expect((await readLastGood(path)).rows).toEqual(rowsOf(1));
      expect(await readdir(join(folder, 'elsewhere'))).toEqual(['kept']);
    },
  );

  it('that is a symbolic link to itself is not written', async () => {
    await symlink('last-good', path);
    await expect(writeLastGood(path, HEAD, rowsOf(1))).rejects.toThrow('ELOOP');
  });
});
