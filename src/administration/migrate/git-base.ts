import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { refuse } from '../frame/command.js';
import { MIGRATIONS, pathOf } from './migration-names.js';

interface BaseFile {
  readonly name: string;
  /** Of its content. */
  readonly objectId: string;
}

/**
 * A sentence for each file that a git revision has, and that is another one now. What counts is the merge base: what
 * others added to the revision since the branch left it is no fault of the branch. A changed mode is no change.
 */
export function faultsAgainstBase(revision: string): string[] {
  const git = gitFor(revision);
  const [mergeBase = ''] = git(['merge-base', 'HEAD', revision]);
  const baseFiles = git(['ls-tree', '-r', mergeBase, '--', '.']).flatMap(baseFileOf);
  const faults: string[] = [];
  for (const { name, objectId } of baseFiles) {
    const isThere = existsSync(pathOf(name));
    // With the path, git converts line ends as it does in a commit
    const [present] = isThere ? git(['hash-object', '--', `${name}.sql`]) : [];
    if (present !== objectId) faults.push(describe(name, revision));
  }
  return faults;
}

function describe(name: string, revision: string): string {
  const remedy = 'Restore it, and write a new migration for that.';
  return `${name}.sql of ${revision} was changed or removed. ${remedy}`;
}

/** A line of ls-tree: mode, type, object id, and behind a tab the path, seen from the folder of the migrations. */
function baseFileOf(line: string): BaseFile[] {
  const [about = '', path = ''] = line.split('\t');
  const [, , objectId = ''] = about.split(' ');
  return path.endsWith('.sql') ? [{ name: path.slice(0, -'.sql'.length), objectId }] : [];
}

type Git = (words: readonly string[]) => string[];

/** Runs git in the folder of the migrations. Gives the lines that it prints. */
function gitFor(revision: string): Git {
  return (words) => {
    const { status, error, stdout, stderr } = spawnSync('git', words, {
      cwd: MIGRATIONS,
      encoding: 'utf8',
    });
    if (status === 0) return stdout.split('\n').filter((line) => line !== '');
    const [fault] = (error?.message ?? stderr).split('\n');
    return refuse(
      `git cannot tell what "${revision}" holds: ${fault}. ` +
        '--base needs a revision that this clone has, with its history, such as origin/main.',
    );
  };
}
