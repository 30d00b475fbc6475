import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT, textOf } from './program.js';

/**
 * A code block of a page. A comment `<!-- test: … -->` before it makes an exception:
 * - `not run: REASON`: no test can run this block
 * - `run by FILE`: this file runs it
 * - `write to FILE`: the block is the content of this file in the reader's folder
 * - `as ROLE`: DATABASE_URL is that of this role, SQL is run as this role, such as `superuser`
 * - `ends with STATUS`: the exit status of the last command, if it is not 0
 */
export interface Block {
  readonly heading: string;
  /** Of its first line of text, from 1. */
  readonly line: number;
  readonly language: string;
  readonly text: string;
  /** What the comment `<!-- test: … -->` before it says. */
  readonly remark: string;
}

/** All pages for people, as paths from the project's folder. */
export const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...readdirSync(join(PROJECT, 'docs')).map((name) => `docs/${name}`),
];

/** The code blocks of a page, in their order. */
export const blocksOf = (page: string): Block[] =>
  [...textOf(page).matchAll(/^( *)```(\w+)\n([^]*?)^\1```$/gm)].map((match) => {
    const [, indent = '', language = '', body = ''] = match;
    const before = match.input.slice(0, match.index);
    return {
      heading: [...before.matchAll(/^#+ (.*)$/gm)].at(-1)?.[1] ?? '',
      line: before.split('\n').length + 1,
      language,
      text: body.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      remark: /<!-- test: ([^>]*) -->\s*$/.exec(before)?.[1] ?? '',
    };
  });

/** The rest of a remark that begins with these words; undefined where it does not. */
export const remarkOf = ({ remark }: Block, beginning: string): string | undefined =>
  remark.startsWith(`${beginning} `) ? remark.slice(beginning.length).trim() : undefined;

/** Whether the walk through a page runs a block: prose, diagrams and what a remark excepts are not among them. */
export const isWalked = (block: Block): boolean =>
  ['console', 'sh', 'sql', 'csv'].includes(block.language) && !/^(not run:|run by) /.test(block.remark);

/** Commands of a console block, each with what it prints; a line that ends with a backslash goes on in the next. */
export const dialogue = (text: string): { command: string; printed: string }[] =>
  text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [, command = '', printed = ''] = /^((?:.*\\\n)*.*)\n?([^]*)$/.exec(part) ?? [];
      return { command, printed };
    });

const ID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';

/**
 * Finds what a page shows in what was really printed: `…` stands for anything, ids, times and numbers of migrations
 * differ, white space does not count. Each id of the page is a group of its own, so that later commands can name the
 * real one.
 */
export function asPrinted(shown: string): { readonly pattern: RegExp; readonly ids: string[] } {
  const ids: string[] = [];
  const source = shown
    .replaceAll(/\s/g, '')
    .replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)
    .replaceAll(new RegExp(ID, 'g'), (id) => {
      const index = ids.indexOf(id);
      if (index >= 0) return `\\${index + 1}`; // the same as that group found
      ids.push(id);
      return `(${ID})`;
    })
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\\\.\d{3}Z/g, String.raw`[\d-]{10}T[\d:.]{12}Z`)
    .replaceAll(/(?:\d{14}|\d{4})(?=_[a-z])/g, String.raw`\d+`)
    .replaceAll('…', '.*');
  return { pattern: new RegExp(source), ids };
}
