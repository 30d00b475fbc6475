import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';

/** Makes a folder, which is removed after the last test of a file. */
export function useTestFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'order-lookup-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
