import { spawnSync } from 'node:child_process';

/** A user of this machine. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** The first of them that exists is taken. `nobody` exists on nearly every machine. */
const NAMES = ['postgres', 'nobody'];

/**
 * As whom PostgreSQL has to run: another user where this process is root, since PostgreSQL refuses to run as root, and
 * undefined, the user of this process, everywhere else. No user is created.
 * @throws Error if this process is root and there is no other user
 */
export function accountOfServer(): Account | undefined {
  if (process.geteuid?.() !== 0) return undefined;
  for (const name of NAMES) {
    const account = accountOf(name);
    if (account) return account;
  }
  throw new Error(
    `PostgreSQL does not run as root, and this machine has no user ${NAMES.join(' or ')} to run it as. ` +
      'Use another user than root, or create one: useradd --system postgres',
  );
}

function accountOf(name: string): Account | undefined {
  const uid = numberPrintedBy('id', ['-u', name]);
  const gid = numberPrintedBy('id', ['-g', name]);
  if (uid === undefined || gid === undefined) return undefined;
  return { name, uid, gid };
}

function numberPrintedBy(program: string, words: readonly string[]): number | undefined {
  const { status, stdout, error } = spawnSync(program, words, { encoding: 'utf8' });
  if (error) throw new Error(`The program ${program} cannot be run: ${error.message}.`);
  if (status !== 0) return undefined;
  return Number(stdout);
}
