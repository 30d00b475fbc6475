// LAST_GOOD_FILE: one JSON document, `{"format":…,"version":…,"content":…,"sha256":"…"}`. The digest is that of the content. It promises: the file
// holds the old or the new content at any moment, whoever writes it, and what is damaged is never used in part.
import { createHash, randomUUID } from 'node:crypto';
import { open, readFile, readdir, readlink, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { JSONWebKeySet } from 'jose';
import type { ListedKey } from '../auth/api-keys/api-keys.service.js';
import { type CodeRows, assertServable } from '../lookups/code-rows.js';
import type { Topic } from '../snapshots/source.js';

/** Raise the version when the meaning of the content changes. */
const HEAD = '{"format":"order-lookup-services last good","version":3,"content":';
const TAIL_BYTES = ',"sha256":""}\n'.length + 64;
const MOST_BYTES = 256 * 1024 ** 2; // a hundred thousand codes are 20 MB
/** A temporary file that was not written to for this time belongs to a process that has ended. */
const LEFTOVER_MS = 10_000;
const TEMPORARY = '.order-lookup-tmp';

/** Times are milliseconds since the epoch, by the database's clock. */
export interface LastGood {
  /** The database and the issuers that it was read from. */
  readonly source: string;
  /** Of the rows and the keys. */
  readonly stamps: Readonly<Record<Topic, string>>;
  /** How far the database's clock was ahead of the machine's, in milliseconds. */
  readonly aheadMs: number;
  /** When the database last confirmed the keys. */
  readonly confirmedAt: number;
  readonly keys: readonly (readonly [hash: string, key: ListedKey])[];
  readonly issuers: readonly { name: string; fetchedAt: number; jwks: JSONWebKeySet }[];
  readonly rows: CodeRows;
}

/** Replaces the file. A symbolic link is followed. Only the owner may read the new file. */
export async function writeLastGood(path: string, lastGood: LastGood): Promise<void> {
  const target = await targetOf(path);
  await removeLeftovers(target);
  const temporary = `${target}.${randomUUID()}${TEMPORARY}`; // each process has one of its own
  const handle = await open(temporary, 'wx', 0o600);
  try {
    const content = JSON.stringify(lastGood);
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

/** What killed processes left. */
async function removeLeftovers(target: string): Promise<void> {
  const folder = dirname(target);
  for (const name of await readdir(folder)) {
    if (!name.startsWith(`${basename(target)}.`) || !name.endsWith(TEMPORARY)) continue;
    const { mtimeMs } = await stat(join(folder, name)).catch(() => ({ mtimeMs: Infinity }));
    if (Date.now() - mtimeMs > LEFTOVER_MS) await rm(join(folder, name), { force: true });
  }
}

/** @throws Error with the reason why the file cannot be used */
export async function readLastGood(path: string): Promise<LastGood> {
  const stats = await stat(path);
  if (!stats.isFile() || stats.size > MOST_BYTES)
    throw new Error(`it is not a file of at most ${MOST_BYTES} bytes`);
  const file = await readFile(path);
  const content = file.subarray(HEAD.length, -TAIL_BYTES);
  const [head, tail] = [file.subarray(0, HEAD.length), file.subarray(-TAIL_BYTES)];
  if (head.toString() !== HEAD || tail.toString() !== tailOf(content))
    throw new Error('it is damaged, or of another version');
  const restored = JSON.parse(content.toString(), withInfinity) as LastGood;
  assertServable(restored.rows);
  return restored;
}

/** JSON has no infinite numbers: writing leaves null. */
const withInfinity = (name: string, value: unknown): unknown =>
  value === null ? (name === 'validFrom' ? -Infinity : Infinity) : value;

/** Where a symbolic link leads, also if there is nothing yet. */
async function targetOf(path: string, links = 40): Promise<string> {
  const link = await readlink(path).catch(() => undefined);
  return link && links > 0 ? targetOf(resolve(dirname(path), link), links - 1) : path;
}

const tailOf = (content: string | Buffer): string =>
  `,"sha256":"${createHash('sha256').update(content).digest('hex')}"}\n`;
