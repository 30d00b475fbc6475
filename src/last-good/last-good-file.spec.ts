import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { CodesSnapshot } from '../codes/codes-snapshot.js';
import { CommunicationCodes } from '../codes/communication-codes/communication-codes.js';
import { DatedRecords } from '../codes/communication-codes/dated-records.js';
import { OrderedRecords } from '../codes/communication-codes/ordered-records.js';
import { inPieces } from '../codes/in-pieces.js';
import { SupportedValues } from '../codes/supported-values/supported-values.js';
import { type LastGood, encode, readLastGood } from './last-good-file.js';
import { replaceFile } from './replace-file.js';

const SOURCE = 'db:5432/orders and https://login.example.com';
const MOMENT = 2_000_000;
const ALWAYS = { from: -Infinity, until: Infinity };

async function sample(records = 2_500): Promise<LastGood> {
  const empty = (...fields: ['codeType', 'code'] | ['code', 'codeType']): DatedRecords =>
    new DatedRecords(new OrderedRecords([], fields), new OrderedRecords([], fields));
  const changes = Array.from({ length: records }, (_, at) => {
    const key = { codeType: `T${at % 7}`, code: `"${at}"\\𝄞` };
    const validity = [ALWAYS, { ...ALWAYS, from: MOMENT }, { ...ALWAYS, until: MOMENT }][at % 3];
    return {
      key,
      json: Buffer.from(JSON.stringify({ ...key, description: 'é' })),
      ...ALWAYS,
      ...validity,
    };
  });
  const codes = await inPieces(
    new CommunicationCodes(empty('codeType', 'code'), empty('code', 'codeType')).with(changes, 0),
  );
  const properties = ['order-update', 'order-capture-v2'].map((area) => ({
    area,
    property: 'p',
    codeList: 'l',
  }));
  const values = [
    { codeList: 'l', value: '10', ...ALWAYS },
    { codeList: 'l', value: 'later', ...ALWAYS, from: MOMENT },
  ];
  const holder = { keyId: 'id', client: 'Grüße', expiresAt: Infinity, revokedAt: -Infinity };
  return {
    source: SOURCE,
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
    codes: new CodesSnapshot(1_000_000, codes, new SupportedValues(properties, values)),
    keys: new Map([
      ['00ff', holder],
      ['ff00', { ...holder, expiresAt: 5_000 }],
    ]),
  };
}

/** The entity tags of all operations, now and after the moment. */
async function tagsOf(snapshot: CodesSnapshot): Promise<string[]> {
  const tags: string[] = [];
  for (const codes of [snapshot, await inPieces(snapshot.at(MOMENT))])
    for (const filters of [{}, { code: '"5"\\𝄞' }, { codeType: 'T1' }])
      tags.push(
        (await codes.communicationCodes.find(filters)).etag,
        codes.supportedValues['order-update'].etag,
      );
  return tags;
}

let folder: string;
let path: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'order-lookup-'));
  path = join(folder, 'last-good');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('LAST_GOOD_FILE', () => {
  it.each([0, 1, 2_500])(
    'with %i codes gives back what was written, with its entity tags and moments',
    async (records) => {
      const lastGood = await sample(records);
      const size = await replaceFile(path, encode(lastGood));
      const { codes, ...rest } = await readLastGood(path, SOURCE);
      const { codes: given, ...expected } = lastGood;
      expect(rest).toEqual(expected);
      expect(await tagsOf(codes)).toEqual(await tagsOf(given));
      expect(new Set(await tagsOf(codes)).size).toBeGreaterThan(2);
      expect(size).toBeGreaterThan(100 * records);
    },
  );

  it('is refused however it is damaged', async () => {
    const whole = Buffer.concat([...encode(await sample(30))]);
    const at = fc.nat(whole.length - 1);
    const damage: Record<string, fc.Arbitrary<Buffer>> = {
      'a bit flipped': fc.tuple(at, fc.nat(7)).map(([byte, bit]) => {
        const file = Buffer.from(whole);
        file[byte] = (file[byte] ?? 0) ^ (1 << bit);
        return file;
      }),
      cut: at.map((length) => whole.subarray(0, length)),
      'its beginning lost': at.map((length) => whole.subarray(length + 1)),
      'parts swapped': fc.uniqueArray(at, { minLength: 3, maxLength: 3 }).map((places) => {
        const [a = 0, b = 0, c = 0] = places.toSorted((one, other) => one - other);
        return Buffer.concat([
          whole.subarray(0, a),
          whole.subarray(b, c),
          whole.subarray(a, b),
          whole.subarray(c),
        ]);
      }),
      'a part written twice': fc.tuple(at, at).map(([a, b]) => {
        const [from, to] = [Math.min(a, b), Math.max(a, b) + 1];
        return Buffer.concat([whole.subarray(0, to), whole.subarray(from)]);
      }),
      'zeros for the rest of its pages': at.map((from) =>
        Buffer.concat([whole.subarray(0, from), Buffer.alloc(4_096)]),
      ),
      'bytes of nobody': fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    };
    for (const files of Object.values(damage))
      await fc.assert(
        fc.asyncProperty(files, async (file) => {
          fc.pre(!file.equals(whole));
          await writeFile(path, file);
          await expect(readLastGood(path, SOURCE)).rejects.toThrow(/^it /);
        }),
        { numRuns: 40 },
      );
  });

  /** A file whose digest fits, whatever it holds. */
  const sealed = (content: string): Buffer =>
    Buffer.concat([Buffer.from(content), createHash('sha256').update(content).digest()]);

  it.each([
    ['empty', '', 'it is damaged: it does not begin as it should'],
    ['another file', '{"keys":[]}\n', 'it is damaged: it does not begin as it should'],
    [
      'of another version',
      sealed('order-lookup-services last good 2\n'),
      'it has version "2" of its format, and this program reads version 1',
    ],
    ['without a block', sealed('order-lookup-services last good 1\n'), 'it is not complete'],
  ])('is refused where it is %s', async (_, content, reason) => {
    await writeFile(path, content);
    await expect(readLastGood(path, SOURCE)).rejects.toThrow(reason);
  });

  it('is refused where it was written for another database or issuer', async () => {
    await replaceFile(path, encode(await sample(1)));
    await expect(readLastGood(path, `${SOURCE}, https://other.example.com`)).rejects.toThrow(
      `it was written for ${SOURCE}, and the configuration names ${SOURCE}, https://other.example.com`,
    );
  });

  it('stays as it was when a write fails half-way, and no temporary file is left', async () => {
    await replaceFile(path, encode(await sample(1)));
    const failing = function* (): Generator<Buffer> {
      yield Buffer.from('half');
      throw new Error('the disk is full');
    };
    await expect(replaceFile(path, failing())).rejects.toThrow('the disk is full');
    await expect(readLastGood(path, SOURCE)).resolves.toBeDefined();
    expect(await readdir(folder)).toEqual(['last-good']);
  });

  it('is written by several at once, and what a killed process left goes when it is old', async () => {
    const [young, old] = [join(folder, 'last-good.1.tmp'), join(folder, 'last-good.2.tmp')];
    for (const leftover of [young, old]) await writeFile(leftover, '');
    const longAgo = new Date(Date.now() - 61_000);
    await utimes(old, longAgo, longAgo);
    const lastGood = await sample(100);
    await Promise.all(Array.from({ length: 5 }, () => replaceFile(path, encode(lastGood))));
    await expect(readLastGood(path, SOURCE)).resolves.toBeDefined();
    expect((await readdir(folder)).toSorted()).toEqual(['last-good', 'last-good.1.tmp']);
    await rm(young);
  });
});
