// Prepares a fresh clone. `prepare.mjs FILE WORD…` then runs a program with the variables of .env. Never call
// prepare.mjs in an npm script such as `prestart`: npm skips such a script if ignore-scripts is set.
import { accessSync, constants, existsSync, readFileSync, symlinkSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isBuilt } from './build.mjs';
import { readDotEnv } from './dot-env.mjs';
import { install, isInstalled } from './installation.mjs';
import { end, run } from './run.mjs';

process.chdir(join(dirname(fileURLToPath(import.meta.url)), '..'));

const [, , program] = process.argv;
/** The variables that Node.js reads when it starts. Their values in .env have no effect. */
const READ_AT_START = ['NODE_EXTRA_CA_CERTS', 'NODE_OPTIONS', 'NODE_USE_ENV_PROXY'];
/** `npm test` needs the development dependencies, and builds by itself. */
const isTest = program === '--no-build';

assertSupportedVersion();
const mustInstall = !isInstalled(isTest);
if (mustInstall) {
  for (const folder of ['.', 'node_modules']) assertWritable(folder);
  assertLinkable();
  await install();
}
if (isTest) assertTestable();
else if (mustInstall || !isBuilt()) await build();
if (program !== undefined && !isTest) {
  setVariables();
  process.argv.splice(1, 1); // the program sees its arguments as if it had been started directly
  // The program runs in this process, so that npm's signals reach it. npm sends them to its shell, and `exec` in
  // package.json replaces the shell by this process. Without `exec`, only the shell would end
  await import(pathToFileURL(resolve(program)).href).catch(endIfDamaged);
}

/** Ends with a sentence if a package lacks a file, as after a disk error. Other errors are thrown again. */
function endIfDamaged(error) {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
  end(`A package of node_modules is damaged: ${error.message}. Install the packages again: npm ci`);
}

function assertSupportedVersion() {
  const { node: version, bun } = process.versions;
  if (bun) end('This is Bun, and Node.js is needed: npm start, or bun run start without --bun.');
  const [major, minor] = version.split('.').map(Number);
  const supported = readSupportedVersions();
  if (!supported.some((lowest) => lowest.major === major && minor >= lowest.minor)) {
    const names = supported.map((lowest) => `${lowest.major}.${lowest.minor}`);
    end(`Node.js ${version} is not supported: ${names.join(', ')}, or a later minor version of these.`);
  }
  if (['start', 'test'].includes(process.env.npm_lifecycle_event)) {
    const [, image] = /^FROM node:([\d.]+)/m.exec(readFileSync('Dockerfile', 'utf8'));
    console.error(`Node.js ${version} is supported (the image has ${image}).`);
  }
}

/** Returns the versions that package.json names as `^MAJOR.MINOR.0 || …`. */
function readSupportedVersions() {
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8'));
  return engines.node.split(' || ').map((range) => {
    const [major, minor] = range.slice(1).split('.').map(Number);
    return { major, minor };
  });
}

function assertWritable(folder) {
  if (!existsSync(folder)) return;
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch ({ code }) {
    const remedy =
      code === 'EROFS'
        ? 'It is on a read-only mount: use a clone in a folder that can be written.'
        : 'If it belongs to another user, such as root, take the clone over: sudo chown -R "$(id -un)" .';
    end(`Packages or programs have to be written, and ${resolve(folder)} cannot be written (${code}). ${remedy}`);
  }
}

/** Ends if a symbolic link cannot be made. npm would make one for each program, minutes after its start. */
function assertLinkable() {
  const link = `.link-${process.pid}`;
  try {
    symlinkSync('package.json', link);
    unlinkSync(link);
  } catch ({ code }) {
    end(
      `npm has to make symbolic links, and ${process.cwd()} cannot contain any (${code}). ` +
        'Is it on a mount such as a USB stick or a network share? Use a clone in a folder of this system itself.',
    );
  }
}

function assertTestable() {
  assertWritable('dist');
  try {
    accessSync(tmpdir(), constants.W_OK | constants.X_OK);
  } catch ({ code }) {
    end(`The tests write to ${tmpdir()}, which cannot be written (${code}): set TMPDIR to a folder of yours.`);
  }
  try {
    accessSync('node_modules/.bin/oxlint', constants.X_OK);
  } catch ({ code }) {
    end(
      `npm test runs programs of node_modules, and they may not run (${code}). ` +
        'Is it on a mount on which no program may run (noexec)? Use a clone in another folder.',
    );
  }
}

async function build() {
  if (!existsSync('node_modules/typescript')) {
    end('dist/ was not made from this src/, and the compiler is not installed: npm ci, then npm run build.');
  }
  for (const folder of ['.', 'dist']) assertWritable(folder);
  console.error('nest build …');
  const { status } = await run([process.execPath, 'node_modules/@nestjs/cli/bin/nest.js', 'build']);
  if (status !== 0) end('The build failed: correct the error above, and repeat the command.');
}

/** Sets the variables of .env. Call it after `install`, because npm would read them, too. Exported variables win. */
function setVariables() {
  if (!existsSync('.env')) return;
  const { variables, faults } = readDotEnv(readEnvFile());
  const late = READ_AT_START.filter((name) => name in variables && process.env[name] === undefined);
  for (const name of late)
    faults.push(`${name} in .env has no effect, because Node.js reads it before .env: export it.`);
  if (faults.length > 0) end(faults.join('\n'));
  for (const [name, value] of Object.entries(variables)) process.env[name] ??= value;
}

function readEnvFile() {
  try {
    return readFileSync('.env');
  } catch ({ code }) {
    return end(`.env cannot be read (${code}): make it a file that this user may read (chmod u+r .env), or remove it.`);
  }
}
