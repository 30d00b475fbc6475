// What `npm start`, `npm test` and the administration commands need before they can run in a fresh clone: a Node.js that is new enough, the
// dependencies of package-lock.json, and a build of src/. Does nothing where all are up to date.
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

process.chdir(join(dirname(fileURLToPath(import.meta.url)), '..'));

function end(sentence) {
  console.error(sentence);
  process.exit(1);
}

function npm(...words) {
  console.error(`npm ${words.join(' ')} …`);
  // Warnings of npm are about its own settings and about packages of packages: nobody here can act on them
  const { status } = spawnSync(
    'npm',
    [...words, words[0] === 'run' ? '--silent' : '--loglevel=error'],
    { stdio: ['ignore', 2, 2] },
  );
  if (status !== 0) process.exit(status ?? 1);
}

const modified = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
const newest = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).reduce(
    (time, entry) => Math.max(time, modified(join(entry.parentPath, entry.name))),
    0,
  );

const { node: version } = process.versions;
const [major, minor] = version.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19))
  end(`Node.js ${version} is too old: version 20.19 or later is needed.`);
if (/^pre(start|test)/.test(process.env.npm_lifecycle_event ?? '')) {
  const [, image] = /^FROM node:([\d.]+)/m.exec(readFileSync('Dockerfile', 'utf8'));
  console.error(`Node.js ${version} is supported; the image has ${image}.`);
}
if (modified('node_modules/.package-lock.json') < modified('package-lock.json')) npm('ci');
if (!process.argv.includes('--no-build')) {
  const built = modified('dist/main.js');
  // After `npm prune --omit=dev` there is no compiler
  if (modified('node_modules/typescript') > 0) {
    if (built < Math.max(newest('src'), modified('node_modules/.package-lock.json')))
      npm('run', 'build');
  } else if (built < newest('src')) {
    end('dist/ is older than src/, and the compiler is not installed: npm ci, then npm run build.');
  }
}
