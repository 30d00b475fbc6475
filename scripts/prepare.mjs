// What `npm start`, `npm test` and the administration commands need before they can run in a fresh clone: a Node.js
// that is new enough, the dependencies of package-lock.json, and a build of src/. Does nothing where all are up to
// date.
//
// `prepare.mjs FILE WORD…` runs a program afterwards, in this process, so that a signal that npm passes on reaches it
// (for that the script `start` has `exec`: npm's shell would end alone), with the variables of .env, which win over none
// that is exported. `npm test` does not read .env.
// Scripts such as `prestart` are not used: npm skips them if ignore-scripts is set.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';

process.chdir(join(dirname(fileURLToPath(import.meta.url)), '..'));

function end(sentence) {
  console.error(sentence);
  process.exit(1);
}

/** Runs npm, the one that runs this script where npm does, and ends where it fails. */
function npm(...words) {
  console.error(`npm ${words.join(' ')} …`);
  const { npm_execpath: npmFile } = process.env;
  const [program, ...first] = npmFile ? [process.execPath, npmFile] : ['npm'];
  const { status, error } = spawnSync(program, [...first, ...words], { stdio: ['ignore', 2, 2] });
  if (error) end(`npm cannot be run (${error.message}): install it, it comes with Node.js.`);
  if (status !== 0) end(`npm ${words[0]} failed: correct the error above, and repeat the command.`);
}

/** Root may have run npm in this clone before. */
function assertWritable(folder) {
  if (!existsSync(folder)) return;
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch ({ code }) {
    end(
      `${folder} cannot be written (${code}). If it belongs to another user, take the clone over: ` +
        'sudo chown -R "$(id -un)" .',
    );
  }
}

const modified = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
const newest = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).reduce(
    (time, entry) => Math.max(time, modified(join(entry.parentPath, entry.name))),
    0,
  );

/** Those that package.json names, as `^MAJOR.MINOR.0 || …`: each is tested with its lowest patch. */
function supportedVersions() {
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8'));
  return engines.node.split(' || ').map((range) => {
    const [major, minor] = range.slice(1).split('.').map(Number);
    return { major, minor };
  });
}

const { node: version } = process.versions;
const [major, minor] = version.split('.').map(Number);
const supported = supportedVersions();
if (!supported.some((lowest) => lowest.major === major && minor >= lowest.minor)) {
  const names = supported.map((lowest) => `${lowest.major}.${lowest.minor}`);
  end(`Node.js ${version} is not supported: ${names.join(', ')}, or a later minor version of these.`);
}
if (['start', 'test'].includes(process.env.npm_lifecycle_event)) {
  const [, image] = /^FROM node:([\d.]+)/m.exec(readFileSync('Dockerfile', 'utf8'));
  console.error(`Node.js ${version} is supported (the image has ${image}).`);
}
for (const folder of ['.', 'node_modules', 'dist']) assertWritable(folder);
if (modified('node_modules/.package-lock.json') < modified('package-lock.json')) {
  // Without npm's warnings, on which nobody here can act. NODE_ENV=production of a shell would leave out the compiler,
  // omit=optional of a user the programs of PostgreSQL
  npm('ci', '--loglevel=error', '--include=dev', '--include=optional');
}
if (process.argv[2] !== '--no-build') {
  const built = modified('dist/built.tsbuildinfo'); // the last file that the compiler writes
  // After `npm prune --omit=dev` there is no compiler
  if (modified('node_modules/typescript') > 0) {
    if (built < Math.max(newest('src'), modified('node_modules/.package-lock.json'))) npm('run', 'build', '--silent');
  } else if (built < newest('src')) {
    end('dist/ is older than src/, and the compiler is not installed: npm ci, then npm run build.');
  }
}

/** In this process alone, after npm has run: npm reads variables, too. */
function loadVariables() {
  if (!existsSync('.env')) return;
  try {
    process.loadEnvFile();
  } catch ({ code }) {
    end(`.env cannot be read (${code}): let this user read it (chmod u+r .env), or remove it.`);
  }
}

const [, , program] = process.argv;
if (program !== undefined && program !== '--no-build') {
  loadVariables();
  process.argv.splice(1, 1); // the program sees its arguments as if it had been started directly
  await import(pathToFileURL(resolve(program)).href);
}
