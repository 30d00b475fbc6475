import { chmodSync, chownSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { describeDataFolder, prepareDataFolder } from '../../src/demo/data-folder.js';
import { isRoot } from '../../src/demo/postgres-programs.js';
import { useTestFolder } from '../support/test-folder.js';

const parent = useTestFolder();
/** A file that belongs to another user. Root makes such a file, and all other users take a file of root. */
const foreign = isRoot ? join(parent, 'foreign') : '/etc/passwd';
if (isRoot) {
  writeFileSync(foreign, '');
  chownSync(foreign, 65_534, 65_534);
}

it('the demo makes its folder, and uses the folder again', () => {
  const folder = join(parent, 'made');
  prepareDataFolder(folder);
  prepareDataFolder(folder);
  expect(existsSync(folder)).toBe(true);
});

it.each([
  { code: 'EROFS', path: parent, remedy: /is on a read-only mount, .* Use a clone in a folder that can be written\.$/ },
  { code: 'EACCES', path: foreign, remedy: /belongs to another user, .* run: sudo chown -R "\$\(id -un\)" \.$/ },
  { code: 'EACCES', path: parent, remedy: /cannot be written \(EACCES\)\. .* run: chmod -R u\+rwX \.$/ },
  { code: 'ENOENT', path: join(parent, 'gone'), remedy: /cannot be written \(ENOENT\)\. .* run: chmod -R u\+rwX \.$/ },
])('if $code keeps the demo from its folder, the message has the remedy $remedy', ({ code, path, remedy }) => {
  const sentence = describeDataFolder(parent, Object.assign(new Error('no'), { code, path }));
  expect(sentence).toMatch(remedy);
  expect(sentence.startsWith(`${path} `)).toBe(true);
});

(isRoot ? it.skip : it)('the demo does not start with a file that its user cannot read', () => {
  const file = join(parent, 'unreadable');
  writeFileSync(file, '');
  chmodSync(file, 0);
  expect(() => prepareDataFolder(parent)).toThrow(`${file} cannot be written (EACCES).`);
  chmodSync(file, 0o600);
});
