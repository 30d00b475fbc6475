import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';

/** A folder that is there until the last test of a file has ended. */
export function testFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'order-lookup-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
