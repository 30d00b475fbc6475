import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { assertBuilt } from './build.js';
import { testFolder } from './test-folder.js';

const built = join(testFolder(), 'dist');
const sources = join(testFolder(), 'src');
mkdirSync(built);
mkdirSync(sources);

function write(path: string, seconds: number): void {
  writeFileSync(path, '');
  utimesSync(path, seconds, seconds);
}

it('the tests start only a build that is newer than the sources', () => {
  write(join(built, 'main.js'), 2_000);
  write(join(sources, 'main.ts'), 1_000);
  write(join(sources, 'main.spec.ts'), 3_000);
  expect(() => assertBuilt({ built, sources })).not.toThrow();
  write(join(sources, 'other.ts'), 3_000);
  expect(() => assertBuilt({ built, sources })).toThrow('npm run build');
});
