import { execFile } from 'node:child_process';
import { basename, dirname } from 'node:path';
import { promisify } from 'node:util';
import { AdministrationError } from '../frame/command.js';
import { MIGRATIONS } from './read-migrations.js';

const execute = promisify(execFile);

/** The migrations of a git revision, compared with those of the working folder. */
export interface BaseRevision {
  /** Their names, in their order. */
  readonly names: readonly string[];
  /** Names of those that are different or missing now. */
  readonly altered: readonly string[];
}

/** @throws AdministrationError if git does not know the revision, or the folder is not in a repository */
export async function readBase(base: string): Promise<BaseRevision> {
  if (base === '' || base.startsWith('-'))
    throw new AdministrationError(`"${base}" is not the name of a git revision, such as main.`);
  const git = async (...words: string[]): Promise<string[]> => {
    const { stdout } = await execute('git', words, {
      cwd: dirname(MIGRATIONS),
      maxBuffer: 2 ** 26,
    });
    return stdout
      .split('\0')
      .filter((path) => path.endsWith('.sql'))
      .map((path) => basename(path, '.sql'));
  };
  try {
    const path = `./${basename(MIGRATIONS)}`;
    const names = await git('ls-tree', '-r', '-z', '--name-only', base, '--', path);
    const altered = await git(
      ...['diff', '--name-only', '-z', '--no-renames', '--diff-filter=MTD', base, '--', path],
    );
    return { names: names.toSorted(), altered };
  } catch (error) {
    const { stderr = String(error) } = error as { stderr?: string };
    throw new AdministrationError(
      `git cannot tell what ${base} holds: ${stderr.trim().split('\n')[0]}. A revision that this clone has is needed, such as origin/main.`,
    );
  }
}
