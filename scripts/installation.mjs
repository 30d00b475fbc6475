// Finds out whether node_modules has the packages of package-lock.json for this platform, and installs them by npm.
import { existsSync, readFileSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { end, run } from './run.mjs';

/** The file that npm writes last. An interrupted installation lacks it. */
const LAST_FILE = 'node_modules/.package-lock.json';
/** The error codes of registries without a ping, such as Nexus, Azure Artifacts and GitLab. */
const HAS_NO_PING = ['E400', 'E404', 'E405'];
/** The size of node_modules on Linux. */
const NEEDED_MB = 350;

/**
 * Returns whether all needed packages are installed, in the right versions.
 * @param withDevelopment if it is false, development dependencies may be missing
 */
export function isInstalled(withDevelopment) {
  if (!existsSync(LAST_FILE)) return false;
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  // Without TypeScript, node_modules was installed or pruned with --omit=dev
  const isPruned = !withDevelopment && !existsSync('node_modules/typescript');
  return Object.entries(packages).every(([folder, { version, ...wanted }]) => {
    const mayBeMissing = folder === '' || (isPruned && wanted.dev) || !isNeededByPlatform(wanted);
    return mayBeMissing || readVersion(folder) === version;
  });
}

/**
 * Returns whether npm installs the package on this platform. An optional package that names no platform may be missing:
 * npm omits @emnapi/core, for example, if only packages of other platforms need it.
 */
function isNeededByPlatform({ optional, os, cpu, libc }) {
  if (!optional) return true;
  if (!os?.includes(process.platform) || !cpu?.includes(process.arch)) return false;
  return !libc || libc.includes(findLibc());
}

function findLibc() {
  process.report.excludeNetwork = true; // a report with the network would ask name servers
  return process.report.getReport().header.glibcVersionRuntime ? 'glibc' : 'musl';
}

function readVersion(folder) {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version;
  } catch {
    return undefined; // the package is missing or incomplete
  }
}

/** Installs the packages anew. If the registry does not answer, the installed packages stay. */
export async function install() {
  await assertRegistryAnswers(); // npm ci first removes node_modules
  const words = [
    'ci',
    '--include=dev', // NODE_ENV=production of a shell would leave out the compiler
    '--include=optional', // a user's omit=optional would leave out PostgreSQL
    '--bin-links', // without its links, npm would not find the programs of npm test
    '--dry-run=false',
    '--install-strategy=hoisted', // isInstalled looks for each package in its folder of package-lock.json
    '--workspaces=false', // in a workspace npm would install the packages of the workspace's root instead
    '--loglevel=error', // nobody here can act on npm's warnings
  ];
  console.error(`npm ${words.join(' ')} …`);
  const { status } = await runNpm(words);
  if (status !== 0) end(`npm ci failed: ${findRemedy()}, and repeat the command.`);
}

/**
 * Returns what to do. On a full disk npm removes what it wrote, and often reports only a missing file. So this function
 * compares the free space with the space that the packages need.
 */
function findRemedy() {
  const { bavail, bsize } = statfsSync('.');
  const freeMb = Math.floor((bavail * bsize) / 1_000_000);
  if (freeMb >= NEEDED_MB) return 'correct the error above';
  return `${freeMb} MB are free on this disk, and the packages need ${NEEDED_MB} MB. Free the rest`;
}

async function assertRegistryAnswers() {
  const words = ['ping', '--json', '--fetch-retries=0', '--fetch-timeout=20000', '--loglevel=silent'];
  const { status, output } = await runNpm(words, 'pipe');
  if (status === 0) return;
  const { code, summary } = readError(output);
  if (HAS_NO_PING.includes(code)) return;
  end(
    `The packages of package-lock.json have to be installed, and npm's registry does not answer: ${summary}. ` +
      'Nothing was changed. Connect to the network, or set registry and proxy (npm config set registry URL). ' +
      "If all packages are in npm's cache: npm ci --offline",
  );
}

function readError(output) {
  try {
    return JSON.parse(output).error;
  } catch {
    return { code: '', summary: 'npm ping failed' };
  }
}

/** Runs the npm that runs this script. If another package manager or nobody runs the script, runs the npm in PATH. */
function runNpm(words, output) {
  const { npm_execpath: file = '' } = process.env;
  const command = /npm-cli\.c?js$/.test(file) ? [process.execPath, file] : ['npm'];
  return run([...command, ...words], output);
}
