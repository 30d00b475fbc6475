import { readFileSync, renameSync, writeFileSync } from 'node:fs';

/** The text of a file that only its owner may read; undefined if there is none. */
export function readKept(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Replaces the file as a whole: a full disk or a power cut leaves the former one. */
export function writeKept(file: string, text: string): void {
  const unfinished = `${file}.${process.pid}`;
  writeFileSync(unfinished, text, { mode: 0o600 });
  renameSync(unfinished, file);
}

/** A JSON object of such a file; undefined if the file is missing or damaged. */
export function readKeptObject(file: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(readKept(file) ?? '');
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
