// The format of LAST_GOOD_FILE: a line with the name and version of the format, blocks, and the SHA-256 of everything before. A block is its
// length in 4 bytes and a value as node:v8 serializes it. Whatever the blocks mean, raise VERSION when it changes.
import { type Hash, createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { deserialize, serialize } from 'node:v8';
import type { JSONWebKeySet } from 'jose';
import type { KeyList, ListedKey } from '../auth/api-keys/api-keys.service.js';
import { CodesSnapshot } from '../codes/codes-snapshot.js';
import { CommunicationCodes } from '../codes/communication-codes/communication-codes.js';
import { DatedRecords } from '../codes/communication-codes/dated-records.js';
import { OrderedRecords } from '../codes/communication-codes/ordered-records.js';
import type { Fields } from '../codes/communication-codes/record-key.js';
import { type PageParts, RecordPage } from '../codes/communication-codes/record-page.js';
import { inPieces } from '../codes/in-pieces.js';
import {
  type ListedValue,
  type Property,
  SupportedValues,
} from '../codes/supported-values/supported-values.js';

const NAME = 'order-lookup-services last good ';
const VERSION = 1;
const FIRST_LINE = Buffer.from(`${NAME}${VERSION}\n`);
const DIGEST_BYTES = 32;
/** How much is read and hashed at a time. */
const CHUNK = 1024 * 1024;
/** Keys and values of a block. */
const MOST_ENTRIES = 1_000;
const ORDERS = { byType: ['codeType', 'code'], byCode: ['code', 'codeType'] } as const;
const PARTS = ['inForce', 'toCome'] as const;

/** Times are milliseconds since the epoch, by the database's clock. */
interface Head {
  /** The database and the issuers that it was read from. */
  readonly source: string;
  /** How far the database's clock was ahead of the machine's, in milliseconds. */
  readonly aheadMs: number;
  readonly codesConfirmedAt: number;
  readonly keysConfirmedAt: number;
  readonly issuers: readonly { name: string; fetchedAt: number; jwks: JSONWebKeySet }[];
}

export interface LastGood extends Head {
  readonly codes: CodesSnapshot;
  readonly keys: KeyList;
}

/** The bytes of the file. Making each piece takes less than a few milliseconds. */
export function* encode(lastGood: LastGood): Generator<Buffer> {
  const sha256 = createHash('sha256');
  yield hashed(FIRST_LINE, sha256);
  for (const block of blocksOf(lastGood)) {
    const value = serialize(block);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(value.length);
    yield hashed(Buffer.concat([length, value]), sha256);
  }
  yield sha256.digest();
}

/**
 * Reads a file as a whole.
 * @param source the database and the issuers that it has to be from
 * @throws Error with the reason why it cannot be used
 */
export async function readLastGood(path: string, source: string): Promise<LastGood> {
  const lastGood = await inPieces(decode(await readVerified(path)));
  if (lastGood.source !== source)
    throw new Error(`it was written for ${lastGood.source}, and the configuration names ${source}`);
  return lastGood;
}

type Block = readonly [kind: string, value: unknown];

function* blocksOf({ codes, keys, ...head }: LastGood): Generator<Block> {
  yield ['head', head];
  yield ['since', codes.since];
  yield* entriesOf('keys', [...keys]);
  yield* entriesOf('properties', codes.values.properties);
  yield* entriesOf('values', codes.values.values);
  for (const order of ['byType', 'byCode'] as const)
    for (const part of PARTS)
      for (const page of codes.communicationCodes[order][part].pages)
        yield [`${order} ${part}`, page.parts];
}

function* entriesOf(kind: string, entries: readonly unknown[]): Generator<Block> {
  for (let at = 0; at < entries.length; at += MOST_ENTRIES)
    yield [kind, entries.slice(at, at + MOST_ENTRIES)];
}

/** The content of a verified file. Pages of records are views of it. */
function* decode(file: Buffer): Generator<void, LastGood> {
  const blocks = new Map<string, unknown[]>();
  for (let at = FIRST_LINE.length; at < file.length - DIGEST_BYTES; yield) {
    const end = at + 4 + file.readUInt32LE(at);
    const [kind, value] = deserialize(file.subarray(at + 4, end)) as Block;
    const ofKind = blocks.get(kind);
    if (ofKind) ofKind.push(value);
    else blocks.set(kind, [value]);
    at = end;
  }
  const all = <T>(kind: string): T[] => (blocks.get(kind) ?? []) as T[];
  const records = (order: keyof typeof ORDERS): DatedRecords => {
    const fields: Fields = ORDERS[order];
    const [inForce, toCome] = PARTS.map(
      (part) =>
        new OrderedRecords(
          all<PageParts>(`${order} ${part}`).map((parts) => RecordPage.ofParts(parts)),
          fields,
        ),
    ) as [OrderedRecords, OrderedRecords];
    return new DatedRecords(inForce, toCome);
  };
  const [[head], [since]] = [all<Head>('head'), all<number>('since')];
  if (head === undefined || since === undefined) throw new Error('it is not complete');
  return {
    ...head,
    codes: new CodesSnapshot(
      since,
      new CommunicationCodes(records('byType'), records('byCode')),
      new SupportedValues(
        all<Property[]>('properties').flat(),
        all<ListedValue[]>('values').flat(),
      ),
    ),
    keys: new Map(all<[string, ListedKey][]>('keys').flat()),
  };
}

async function readVerified(path: string): Promise<Buffer> {
  const handle = await open(path);
  try {
    const { size } = await handle.stat();
    const file = Buffer.allocUnsafeSlow(size);
    const sha256 = createHash('sha256');
    const end = Math.max(0, size - DIGEST_BYTES);
    for (let at = 0, read; at < size; at += read) {
      ({ bytesRead: read } = await handle.read(file, at, Math.min(CHUNK, size - at)));
      if (read === 0) throw new Error('it became shorter while it was read');
      sha256.update(file.subarray(at, Math.max(at, Math.min(at + read, end))));
    }
    assertFormat(file);
    if (!sha256.digest().equals(file.subarray(end)))
      throw new Error('it is damaged: its digest does not fit');
    return file;
  } finally {
    await handle.close();
  }
}

function assertFormat(file: Buffer): void {
  if (file.subarray(0, FIRST_LINE.length).equals(FIRST_LINE)) return;
  const [line = ''] = file.toString('latin1', 0, 64).split('\n');
  throw new Error(
    line.startsWith(NAME)
      ? `it has version ${JSON.stringify(line.slice(NAME.length))} of its format, and this program reads version ${VERSION}`
      : 'it is damaged: it does not begin as it should',
  );
}

function hashed(bytes: Buffer, sha256: Hash): Buffer {
  sha256.update(bytes);
  return bytes;
}
