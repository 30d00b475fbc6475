import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { refuse } from '../frame/command.js';
import { MIGRATIONS, pathOf } from './migration-names.js';

interface BaseFile {
  readonly name: string;
  /** By which git knows the content of the file. */
  readonly objectId: string;
}

/** A line of ls-tree: mode, type, object id, and behind a tab the path, seen from the folder of the migrations. */
const TREE_LINE = /^\d+ blob (?<objectId>[0-9a-f]+)\t(?<name>.+)\.sql$/;

/**
 * A sentence for each file that a git revision has, and that has another content now, or is gone. What counts is the
 * merge base: what others added to the revision since the branch left it is no fault of the branch.
 */
export function faultsAgainstBase(revision: string): string[] {
  const git = gitFor(revision);
  const [mergeBase = ''] = git(['merge-base', '--end-of-options', 'HEAD', revision]);
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

/** Nothing for a line that is about no migration. */
function baseFileOf(line: string): BaseFile[] {
  const found = TREE_LINE.exec(line)?.groups;
  if (!found) return [];
  return [{ name: `${found['name']}`, objectId: `${found['objectId']}` }];
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
    // merge-base says nothing where the two have no common history
    const [fault] = (error?.message || stderr || 'it has no history in common with HEAD').split('\n');
    return refuse(
      `git cannot tell what "${revision}" holds: ${fault}. ` +
        '--base needs a revision that this clone has, with its history, such as origin/main.',
    );
  };
}
