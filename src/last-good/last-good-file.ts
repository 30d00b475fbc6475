// LAST_GOOD_FILE: a line that names the format, its version and the digest of the rest, and the content in V8's serialization, which takes half the
// time of JSON. It promises: the file holds the old or the new content at any moment, whoever writes it, and what is damaged is never used in part.
import { randomUUID, webcrypto } from 'node:crypto';
import { readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { deserialize, serialize } from 'node:v8';
import type { KeyList } from '../auth/api-keys/api-keys.service.js';
import { type CodeRows, assertServable } from '../lookups/code-rows.js';
import type { Topic } from '../snapshots/source.js';

const MOST_BYTES = 256 * 1024 ** 2; // a hundred thousand codes are 25 MB

/** Times are milliseconds since the epoch, by the database's clock. */
export interface LastGood {
  /** The database that it was read from. */
  readonly source: string;
  /** Of the rows and the keys. */
  readonly stamps: Readonly<Record<Topic, string>>;
  /** How far the database's clock was ahead of the machine's, in milliseconds. */
  readonly aheadMs: number;
  /** When the database last confirmed the keys. */
  readonly confirmedAt: number;
  readonly keys: KeyList;
  readonly rows: CodeRows;
}

/** The first line. Raise the version when the meaning of the content changes. The digest is made in another thread. */
async function headOf(content: Uint8Array<ArrayBuffer>): Promise<Buffer> {
  const digest = Buffer.from(await webcrypto.subtle.digest('SHA-256', content)).toString('hex');
  return Buffer.from(`order-lookup-services last good 6, sha256 ${digest}\n`);
}

/** Replaces the file. A symbolic link to a file is followed. Only the owner may read the new file. */
export async function writeLastGood(path: string, lastGood: LastGood): Promise<void> {
  const target = await realpath(path).catch(() => path);
  const temporary = `${target}.${randomUUID()}`; // each process has one of its own
  try {
    const content = serialize(lastGood);
    const options = { flag: 'wx', mode: 0o600, flush: true };
    await writeFile(temporary, [await headOf(content), content], options);
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** @throws Error with the reason why the file cannot be used */
export async function readLastGood(path: string): Promise<LastGood> {
  const stats = await stat(path);
  if (!stats.isFile() || stats.size > MOST_BYTES)
    throw new Error(`it is not a file of at most ${MOST_BYTES} bytes`);
  const file = await readFile(path);
  const content = file.subarray(file.indexOf('\n') + 1);
  if (!file.subarray(0, -content.length).equals(await headOf(content)))
    throw new Error('it is damaged, or of another version');
  const restored = deserialize(content) as LastGood;
  assertServable(restored.rows);
  return restored;
}
