// LAST_GOOD_FILE: one JSON document, `{"format":…,"version":…,"content":…,"sha256":"…"}`. The digest is that of everything before it. It
// promises: the file holds the old or the new content at any moment, whoever writes it, and what is damaged is never used in part.
import { createHash } from 'node:crypto';
import { open, readFile, readlink, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { JSONWebKeySet } from 'jose';
import type { ListedKey } from '../auth/api-keys/api-keys.service.js';
import { type CodeRows, assertServable, recordOf } from '../codes/code-rows.js';
import type { CommunicationCode } from '../database/entities/communication-code.entity.js';

const FORMAT = 'order-lookup-services last good';
/** Raise it when the meaning of the content changes. */
const VERSION = 2;
const HEAD = `{"format":${JSON.stringify(FORMAT)},"version":${VERSION},"content":`;
const TAIL_BYTES = ',"sha256":""}\n'.length + 64;
/** Larger files are not read: a hundred thousand codes are 20 MB. */
const MOST_BYTES = 256 * 1024 ** 2;
/** Records of a piece: about a millisecond of work. */
const PIECE = 1_000;
/** A temporary file that was not written to for this time belongs to a process that has ended, in milliseconds. */
const LEFTOVER_MS = 60_000;

/** Times are milliseconds since the epoch, by the database's clock. */
export interface LastGood {
  /** The database and the issuers that it was read from. */
  readonly source: string;
  /** How far the database's clock was ahead of the machine's, in milliseconds. */
  readonly aheadMs: number;
  readonly codesConfirmedAt: number;
  readonly keysConfirmedAt: number;
  readonly keys: readonly (readonly [hash: string, key: ListedKey])[];
  readonly issuers: readonly { name: string; fetchedAt: number; jwks: JSONWebKeySet }[];
}

/** What was read from the file. */
export interface Restored extends LastGood {
  readonly rows: CodeRows;
}

/** As it stands in the file. */
interface Content extends LastGood {
  readonly properties: CodeRows['properties'];
  readonly values: CodeRows['values'];
  readonly records: readonly CommunicationCode[];
}

/** Replaces the file. A symbolic link is followed. Only the owner may read the new file. */
export async function writeLastGood(path: string, head: LastGood, rows: CodeRows): Promise<void> {
  const target = await targetOf(path);
  const temporary = `${target}.order-lookup-tmp`;
  const { mtimeMs } = await stat(temporary).catch(() => ({ mtimeMs: Infinity }));
  if (Date.now() - mtimeMs > LEFTOVER_MS) await rm(temporary, { force: true });
  const handle = await open(temporary, 'wx', 0o600); // so only one process writes it
  try {
    await writeFile(handle, hashed(piecesOf(head, rows)));
    await handle.sync();
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}

/** @throws Error with the reason why the file cannot be used */
export async function readLastGood(path: string): Promise<Restored> {
  const stats = await stat(path);
  if (!stats.isFile()) throw new Error('it is not a file');
  if (stats.size > MOST_BYTES) throw new Error(`it has more than ${MOST_BYTES} bytes`);
  const file = await readFile(path);
  if (!file.toString('latin1', 0, HEAD.length).startsWith(HEAD))
    throw new Error(`it does not begin as version ${VERSION} of its format does`);
  const content = file.subarray(HEAD.length, -TAIL_BYTES);
  if (
    !file.subarray(-TAIL_BYTES).equals(tailOf(createHash('sha256').update(content).digest('hex')))
  )
    throw new Error('it is damaged: its digest does not fit');
  const { properties, values, records, ...head } = JSON.parse(
    content.toString(),
    revive,
  ) as Content;
  const types = new Map<string, string>();
  const rows = { properties, values, records: records.map((row) => recordOf(row, types)) };
  assertServable(rows);
  return { ...head, rows };
}

/** Where a symbolic link leads, also if there is nothing yet. */
async function targetOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const link = await readlink(path).catch(() => undefined);
    return link === undefined ? path : targetOf(resolve(dirname(path), link));
  }
}

const tailOf = (digest: string): Buffer => Buffer.from(`,"sha256":"${digest}"}\n`);

function* piecesOf(head: LastGood, { records, ...lists }: CodeRows): Generator<string> {
  yield `${JSON.stringify({ ...head, ...lists }, infinite).slice(0, -1)},"records":[`;
  for (let at = 0; at < records.length; at += PIECE) {
    const piece = records
      .slice(at, at + PIECE)
      .map(({ json, validity }) => json.slice(0, -1) + textOf(validity));
    yield `${at === 0 ? '' : ','}${piece.join(',')}`;
  }
  yield ']}';
}

const textOf = (validity: object): string => `,${JSON.stringify(validity, infinite).slice(1)}`;

function* hashed(pieces: Iterable<string>): Generator<Buffer> {
  const sha256 = createHash('sha256');
  yield Buffer.from(HEAD);
  for (const piece of pieces) {
    const bytes = Buffer.from(piece);
    sha256.update(bytes);
    yield bytes;
  }
  yield tailOf(sha256.digest('hex'));
}

/** JSON has no infinite numbers. No other member holds these texts at these names. */
const INFINITE = ['validFrom', 'validUntil', 'expiresAt', 'revokedAt'];
const infinite = (name: string, value: unknown): unknown =>
  INFINITE.includes(name) && !Number.isFinite(value) ? String(value) : value;
const revive = (name: string, value: unknown): unknown =>
  INFINITE.includes(name) ? Number(value) : value;
