import { randomUUID } from 'node:crypto';
import { open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** A temporary file that was not written to for this time belongs to a process that has ended, in milliseconds. */
const LEFTOVER_MS = 60_000;

/**
 * Replaces a file at once: at any moment, also after SIGKILL or a power failure, it holds the old or the new content. Several processes may
 * do this with the same file. Only its owner may read it.
 * @returns the size of the new file, in bytes
 * @throws Error of the file system; the old file stays
 */
export async function replaceFile(path: string, pieces: Iterable<Buffer>): Promise<number> {
  await removeLeftovers(path);
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    await writeFile(temporary, pieces, { flag: 'wx', mode: 0o600, flush: true });
    const { size } = await stat(temporary);
    await rename(temporary, path);
    await syncFolder(dirname(path)).catch(() => undefined); // not every system can; without it a power failure may bring back the old file
    return size;
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function removeLeftovers(path: string): Promise<void> {
  const folder = dirname(path);
  for (const name of await readdir(folder)) {
    if (!name.startsWith(`${basename(path)}.`) || !name.endsWith('.tmp')) continue;
    const leftover = join(folder, name);
    const { mtimeMs } = await stat(leftover).catch(() => ({ mtimeMs: Infinity })); // another process was faster
    if (Date.now() - mtimeMs > LEFTOVER_MS) await rm(leftover, { force: true });
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
