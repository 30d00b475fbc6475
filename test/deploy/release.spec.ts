import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { PROJECT, shell } from '../support/program.js';

it('the version of package.json stands in the lock file, the image, the manifests, the README and the changelog', async () => {
  const versionIn = (file: string): string =>
    (JSON.parse(readFileSync(join(PROJECT, file), 'utf8')) as { version: string }).version;
  expect(versionIn('package-lock.json')).toBe(versionIn('package.json'));
  expect(await shell('node scripts/set-version.mjs --check', PROJECT, {})).toEqual({
    status: 0,
    stdout: '',
    stderr: '',
  });
});
