// LAST_GOOD_FILE: one JSON document, `{"format":…,"version":…,"content":…,"sha256":"…"}`. The digest is that of the content. It promises: the file
// holds the old or the new content at any moment, whoever writes it, and what is damaged is never used in part.
import { createHash } from 'node:crypto';
import { open, readFile, readlink, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { JSONWebKeySet } from 'jose';
import type { ListedKey } from '../auth/api-keys/api-keys.service.js';
import { type CodeRows, type Validity, assertServable } from '../codes/code-rows.js';

const FORMAT = 'order-lookup-services last good';
/** Raise it when the meaning of the content changes. */
const VERSION = 2;
const HEAD = `{"format":${JSON.stringify(FORMAT)},"version":${VERSION},"content":`;
const TAIL_BYTES = ',"sha256":""}\n'.length + 64;
/** Larger files are not read: a hundred thousand codes are 20 MB. */
const MOST_BYTES = 256 * 1024 ** 2;
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

/** Replaces the file. A symbolic link is followed. Only the owner may read the new file. */
export async function writeLastGood(path: string, head: LastGood, rows: CodeRows): Promise<void> {
  const target = await targetOf(path);
  const temporary = `${target}.order-lookup-tmp`;
  const { mtimeMs } = await stat(temporary).catch(() => ({ mtimeMs: Infinity }));
  if (Date.now() - mtimeMs > LEFTOVER_MS) await rm(temporary, { force: true });
  const handle = await open(temporary, 'wx', 0o600); // so only one process writes it
  try {
    const content = JSON.stringify({ ...head, rows }); // null stands for a moment that never comes
    await writeFile(handle, [HEAD, content, tailOf(content)]);
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
  if (file.toString('latin1', file.length - TAIL_BYTES) !== tailOf(content))
    throw new Error('it is damaged: its digest does not fit');
  const { rows, keys, ...head } = JSON.parse(content.toString()) as Restored;
  const { properties, values, records } = rows;
  const restored = {
    properties,
    values: values.map((value) => Object.assign(value, bounded(value))),
    records: records.map((record) => ({ ...record, validity: bounded(record.validity) })),
  };
  assertServable(restored);
  return { ...head, rows: restored, keys: keys.map(([hash, key]) => [hash, ended(key)]) };
}

const bounded = ({ validFrom, validUntil }: Nullable<Validity>): Validity => ({
  validFrom: validFrom ?? -Infinity,
  validUntil: validUntil ?? Infinity,
});

const ended = ({ expiresAt, revokedAt, ...key }: Nullable<ListedKey>): ListedKey =>
  ({ ...key, expiresAt: expiresAt ?? Infinity, revokedAt: revokedAt ?? Infinity }) as ListedKey;

type Nullable<T> = { readonly [Name in keyof T]: T[Name] | null };

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

const tailOf = (content: string | Buffer): string =>
  `,"sha256":"${createHash('sha256').update(content).digest('hex')}"}\n`;
