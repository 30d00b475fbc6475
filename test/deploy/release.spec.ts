import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { VERSION } from '../../src/documentation/openapi/version.js';
import { PROJECT, shell } from '../support/program.js';

it('the version of package.json stands in the lock file, the image, the manifests, the README and the changelog', async () => {
  const lock = readFileSync(join(PROJECT, 'package-lock.json'), 'utf8');
  expect((JSON.parse(lock) as { version: string }).version).toBe(VERSION);
  expect(await shell('node scripts/set-version.mjs --check', PROJECT, {})).toEqual({
    status: 0,
    stdout: '',
    stderr: '',
  });
});
