// What `npm start`, `npm test` and the administration commands need before they can run in a fresh clone:
// the dependencies of package-lock.json, and a build of src/. Does nothing where both are up to date.
// Among the dependencies is the Node.js that every npm script uses afterwards: npm puts node_modules/.bin in front of the PATH.
// Therefore this file alone has to run on an older one.
import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

process.chdir(join(import.meta.dirname, '..'));

const modified = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
const newest = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).reduce(
    (time, entry) => Math.max(time, modified(join(entry.parentPath, entry.name))),
    0,
  );
const isBelow = (version, ...least) => {
  const parts = version.split('.').map(Number);
  const at = least.findIndex((part, index) => parts[index] !== part);
  return at >= 0 && parts[at] < least[at];
};

function end(...lines) {
  console.error(lines.join('\n'));
  process.exit(1);
}

function npm(...words) {
  console.error(`npm ${words.join(' ')} …`);
  const { status, stderr } = spawnSync('npm', words, {
    stdio: ['ignore', 2, 'pipe'],
    encoding: 'utf8',
  });
  // npm compares the packages with the Node.js that it runs on, not with the one that it has just installed
  process.stderr.write((stderr ?? '').replace(/^npm warn EBADENGINE.*\n/gim, ''));
  if (status !== 0) process.exit(status ?? 1);
}

const { node: version } = process.versions;
if (isBelow(version, 20, 19)) {
  end(`Node.js ${version} is too old: version 20.19 or later is needed (see .nvmrc).`);
}
if (modified('node_modules/.package-lock.json') < modified('package-lock.json')) {
  npm('ci');
  const pinned = join('node_modules', '.bin', 'node');
  // Not where the system has no such package, nor where it cannot run it (a Linux without glibc)
  if (spawnSync(pinned, ['--version']).status !== 0) {
    rmSync(pinned, { force: true });
    if (isBelow(version, 22, 21)) {
      end(
        `Node.js ${version} is too old: version 22.21, 24.11 or 26 is needed, since the package registry has none for this system.`,
      );
    }
  }
}
if (!process.argv.includes('--no-build')) {
  const built = modified('dist/main.js');
  // After `npm prune --omit=dev` there is no compiler
  if (modified('node_modules/typescript') > 0) {
    if (built < Math.max(newest('src'), modified('node_modules/.package-lock.json'))) {
      npm('run', 'build');
    }
  } else if (built < newest('src')) {
    end('dist/ is older than src/, and the compiler is not installed: npm ci, then npm run build.');
  }
}
