// The codings of a body, with a compressor whose end the test decides.
import { randomBytes } from 'node:crypto';
import type { BrotliOptions } from 'node:zlib';
import { beforeEach, expect, it, jest } from '@jest/globals';
import type { Request } from 'express';
import { until } from '../../test/support/until.js';

type Callback = (error: Error | null, result: Buffer) => void;
const brotliCalls: Callback[] = [];
jest.unstable_mockModule('node:zlib', () => ({
  constants: {},
  gzip: (_body: Buffer, done: Callback) => done(null, Buffer.from('gzip')),
  brotliCompress: (_body: Buffer, _options: BrotliOptions, done: Callback) => brotliCalls.push(done),
}));
const { Representations } = await import('./representations.js');

const BODY = randomBytes(20_000);
/** A request of a client that prefers br. */
const request = {
  acceptsEncodings: (offered: string[]) => ['br', 'gzip', 'identity'].find((each) => offered.includes(each)),
} as unknown as Request;

beforeEach(() => {
  brotliCalls.length = 0;
});

it('gzip is sent while br is not ready, and where br failed; a later request makes br', async () => {
  const representations = new Representations(BODY, { isCompressible: true });
  const codingOf = (): string | undefined => representations.preferredBy(request).coding;
  expect(codingOf()).toBe(undefined);
  await until(async () => brotliCalls.length === 1);
  expect(codingOf()).toBe('gzip');
  brotliCalls[0]?.(new Error('no memory'), Buffer.alloc(0));
  await until(async () => codingOf() === 'gzip' && brotliCalls.length === 2);
  brotliCalls[1]?.(null, Buffer.from('br'));
  await until(async () => codingOf() === 'br');
  expect(representations.preferredBy(request).content.toString()).toBe('br');
});

it('a body that is not compressible, or is small, has no codings', () => {
  for (const representations of [
    new Representations(BODY, { isCompressible: false }),
    new Representations(Buffer.from('small'), { isCompressible: true }),
  ]) {
    representations.compressMissing();
    expect(representations.preferredBy(request)).toBe(representations.identity);
  }
  expect(brotliCalls).toEqual([]);
});
