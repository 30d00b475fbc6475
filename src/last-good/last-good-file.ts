// LAST_GOOD_FILE: a line that names the format, its version and the digest of the rest, and a JSON document. It promises: the file
// holds the old or the new content at any moment, whoever writes it, and what is damaged is never used in part.
import { hash, randomUUID } from 'node:crypto';
import { open, readFile, readdir, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { JSONWebKeySet } from 'jose';
import type { ListedKey } from '../auth/api-keys/api-keys.service.js';
import { type CodeRows, assertServable } from '../lookups/code-rows.js';
import type { Topic } from '../snapshots/source.js';

/** Raise the version when the meaning of the content changes. */
const headOf = (content: string | Buffer): string =>
  `order-lookup-services last good 4, sha256 ${hash('sha256', content)}\n`;
const HEAD_BYTES = headOf('').length;
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

/** Replaces the file. A symbolic link to a file is followed. Only the owner may read the new file. */
export async function writeLastGood(path: string, lastGood: LastGood): Promise<void> {
  const target = await realpath(path).catch(() => path);
  await removeLeftovers(target);
  const temporary = `${target}.${randomUUID()}${TEMPORARY}`; // each process has one of its own
  const handle = await open(temporary, 'wx', 0o600);
  try {
    const content = JSON.stringify(lastGood);
    await writeFile(handle, [headOf(content), content]);
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
  const content = file.subarray(HEAD_BYTES);
  if (file.subarray(0, HEAD_BYTES).toString() !== headOf(content))
    throw new Error('it is damaged, or of another version');
  const restored = JSON.parse(content.toString(), withInfinity) as LastGood;
  assertServable(restored.rows);
  return restored;
}

/** JSON has no infinite numbers: writing leaves null. */
const withInfinity = (name: string, value: unknown): unknown =>
  value === null ? (name === 'validFrom' ? -Infinity : Infinity) : value;
