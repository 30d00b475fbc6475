import { execFile } from 'node:child_process';
import { basename, dirname } from 'node:path';
import { promisify } from 'node:util';
import { AdministrationError } from '../frame/command.js';
import { MIGRATIONS } from './migration-files.js';

const execute = promisify(execFile);

/** The migrations of a git revision, compared with those of the working folder. */
export interface BaseRevision {
  /** Their names, in their order. */
  readonly names: readonly string[];
  /** Names of those that were changed or removed since the folder's branch left that revision. */
  readonly altered: readonly string[];
}

/** @throws AdministrationError if git does not know the revision, or the folder is not in a repository */
export async function readBase(base: string): Promise<BaseRevision> {
  if (!/^[^\s-]\S*$/.test(base))
    throw new AdministrationError(`"${base}" is not the name of a git revision, such as main.`);
  const cwd = dirname(MIGRATIONS);
  const path = `./${basename(MIGRATIONS)}`;
  const git = async (command: string): Promise<string[]> =>
    (
      await execute('git', [...command.split(' '), '--', path], { cwd, maxBuffer: 2 ** 26 })
    ).stdout.split('\0');
  const names = (paths: readonly string[]): string[] =>
    paths.filter((one) => one.endsWith('.sql')).map((one) => basename(one, '.sql'));
  try {
    const { stdout: left } = await execute('git', ['merge-base', base, 'HEAD'], { cwd });
    const altered = await git(`diff --name-only -z --no-renames --diff-filter=MTD ${left.trim()}`);
    const all = await git(`ls-tree -r -z --name-only ${base}`);
    return { names: names(all).sort(), altered: names(altered) };
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    throw new AdministrationError(
      `git cannot tell what ${base} holds: ${stderr?.trim().split('\n')[0] || 'it has no common ancestor with HEAD'}. A revision that this clone has is needed, such as origin/main.`,
    );
  }
}
