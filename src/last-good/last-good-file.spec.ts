import { createHash } from 'node:crypto';
import * as fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serialize } from 'node:v8';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { recordOf } from '../lookups/code-rows.js';
import { type LastGood, readLastGood, writeLastGood } from './last-good-file.js';

const ALWAYS = { validFrom: -Infinity, validUntil: Infinity };
const VALIDITIES = [
  ALWAYS,
  { ...ALWAYS, validFrom: Date.UTC(9999, 11, 31) },
  { ...ALWAYS, validUntil: -62_135_596_800_000 },
];
const HOLDER = { keyId: 'id', client: 'Grüße', expiresAt: Infinity, revokedAt: 0 };

function lastGood(count: number): LastGood {
  const types = new Map<string, string>();
  return {
    source: 'db:5432/orders and https://login.example.com',
    stamps: { codes: 'one', keys: 'other' },
    aheadMs: -1.5,
    confirmedAt: 2_000.25,
    keys: new Map([
      ['00ff', HOLDER],
      ['ff00', { ...HOLDER, expiresAt: 5_000, revokedAt: Infinity }],
    ]),
    rows: {
      properties: ['order-update', 'order-capture-v2'].map((area) => {
        return { area, property: 'p', position: 1, codeList: 'l' };
      }),
      values: VALIDITIES.map((validity, at) => {
        return { codeList: 'l', value: `${10 - at}`, position: at, ...validity };
      }),
      records: Array.from({ length: count }, (_, at) => {
        const code = { codeType: 'T', code: `"${at}"\\𝄞`, description: 'é' };
        return recordOf({ ...code, ...(VALIDITIES[at % 3] ?? ALWAYS) }, types);
      }),
    },
  };
}

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await fs.mkdtemp(join(tmpdir(), 'order-lookup-'));
  path = join(folder, 'last-good');
});
afterEach(() => fs.rm(folder, { recursive: true, force: true }));

it('LAST_GOOD_FILE gives back what was written, is for its owner, and does no harm to what is beside it', async () => {
  const foreign = ['last-good.1.tmp', 'last-good.old', 'other'];
  for (const name of foreign) await fs.writeFile(join(folder, name), name);
  await fs.mkdir(join(folder, 'last-good.d'));
  await writeLastGood(path, lastGood(2_500));
  expect(await readLastGood(path)).toEqual(lastGood(2_500));
  expect((await fs.lstat(path)).mode & 0o777).toBe(0o600);
  expect(await fs.readFile(path, 'utf8')).toMatch(/^order-lookup-services last good 5, /);
  expect(await fs.readdir(folder)).toEqual(
    [...foreign, 'last-good', 'last-good.d'].toSorted((a, b) => (a < b ? -1 : 1)),
  );
});

it('LAST_GOOD_FILE is refused however it is damaged', async () => {
  await writeLastGood(path, lastGood(30));
  const whole = await fs.readFile(path);
  const at = fc.nat(whole.length - 1);
  const damage = fc.oneof(
    fc.tuple(at, fc.nat(7)).map(([byte, bit]) => {
      const file = Buffer.from(whole);
      file[byte] = (file[byte] ?? 0) ^ (1 << bit);
      return file;
    }),
    fc.tuple(at, at).map(([to, from]) => {
      return Buffer.concat([whole.subarray(0, to), whole.subarray(from)]); // less, or a part twice
    }),
    at.map((from) => Buffer.concat([whole.subarray(0, from), Buffer.alloc(4_096)])), // as after a crash
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  );
  await fc.assert(
    fc.asyncProperty(damage, async (file) => {
      fc.pre(!file.equals(whole));
      await fs.writeFile(path, file);
      await expect(readLastGood(path)).rejects.toThrow(/^it is damaged, or of another version$/);
    }),
    { numRuns: 200 },
  );
});

/** A file whose digest fits, whatever it holds. */
const sealed = (lastGoodOrOther: object, version = 5): Buffer => {
  const content = serialize(lastGoodOrOther);
  const digest = createHash('sha256').update(content).digest('hex');
  const head = `order-lookup-services last good ${version}, sha256 ${digest}\n`;
  return Buffer.concat([Buffer.from(head), content]);
};
it.each([
  ['empty', '', 'it is damaged'],
  ['of another version', sealed(lastGood(0), 4), 'it is damaged, or of another version'],
  [
    'without the properties of an area',
    sealed({ ...lastGood(0), rows: { ...lastGood(0).rows, properties: [] } }),
    'the area order-update has no property',
  ],
])('LAST_GOOD_FILE is refused where it is %s', async (_, content, reason) => {
  await fs.writeFile(path, content);
  await expect(readLastGood(path)).rejects.toThrow(reason);
});

it('LAST_GOOD_FILE is refused unread where it is larger than any file of ours, or no file', async () => {
  await fs.writeFile(path, '');
  await fs.truncate(path, 300 * 1024 ** 2);
  for (const one of [path, '/dev/zero', folder])
    await expect(readLastGood(one)).rejects.toThrow(/^it is not a file of at most \d+ bytes/);
  await expect(readLastGood(join(folder, 'none'))).rejects.toThrow('ENOENT');
});

it('LAST_GOOD_FILE stays as it was when a write fails, and no temporary file is left', async () => {
  await writeLastGood(path, lastGood(1));
  const failing = { ...lastGood(3_000), aheadMs: (() => 1) as never };
  await expect(writeLastGood(path, failing)).rejects.toThrow('could not be cloned');
  expect(await readLastGood(path)).toEqual(lastGood(1));
  await fs.mkdir(join(folder, 'folder', 'in it'), { recursive: true });
  await expect(writeLastGood(join(folder, 'folder'), lastGood(1))).rejects.toThrow('EISDIR');
  expect((await fs.readdir(folder)).toSorted()).toEqual(['folder', 'last-good']);
});

it('LAST_GOOD_FILE is written by several processes at once', async () => {
  await Promise.all(Array.from({ length: 5 }, () => writeLastGood(path, lastGood(3_000))));
  expect(await readLastGood(path)).toEqual(lastGood(3_000));
  expect(await fs.readdir(folder)).toEqual(['last-good']);
});

it('LAST_GOOD_FILE that is a symbolic link to a file is written where the link leads', async () => {
  const target = join(folder, 'elsewhere', 'kept');
  await fs.mkdir(join(folder, 'elsewhere'));
  await fs.writeFile(target, 'old');
  await fs.symlink(join('elsewhere', 'kept'), path);
  await writeLastGood(path, lastGood(1));
  expect((await fs.lstat(path)).isSymbolicLink()).toBe(true);
  expect((await fs.lstat(target)).isFile()).toBe(true);
  expect(await fs.readdir(join(folder, 'elsewhere'))).toEqual(['kept']);
});
