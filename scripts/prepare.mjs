// What `npm start`, `npm test` and the administration commands need before they can run in a fresh clone:
// the dependencies of package-lock.json, and a build of src/. Does nothing where both are up to date.
import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

process.chdir(join(import.meta.dirname, '..'));

const modified = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
const newest = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).reduce(
    (time, entry) => Math.max(time, modified(join(entry.parentPath, entry.name))),
    0,
  );

function npm(...words) {
  console.error(`npm ${words.join(' ')} …`);
  const { status } = spawnSync('npm', words, { stdio: ['ignore', 2, 2] });
  if (status !== 0) process.exit(status ?? 1);
}

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(
    `Node.js ${process.versions.node} is too old: version 20.19 or later is needed (see .nvmrc).`,
  );
  process.exit(1);
}
if (modified('node_modules/.package-lock.json') < modified('package-lock.json')) npm('ci');
if (
  !process.argv.includes('--no-build') &&
  modified('dist/main.js') < Math.max(newest('src'), modified('node_modules/.package-lock.json'))
) {
  npm('run', 'build');
}
