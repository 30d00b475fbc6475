import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT, readText } from './program.js';

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
export const readBlocks = (page: string): Block[] =>
  [...readText(page).matchAll(/^( *)```(\w+)\n([^]*?)^\1```$/gm)].map((match) => {
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
export const findRemark = ({ remark }: Block, beginning: string): string | undefined =>
  remark.startsWith(`${beginning} `) ? remark.slice(beginning.length).trim() : undefined;

/** Whether the walk through a page runs a block: prose, diagrams and what a remark excepts are not among them. */
export const isWalked = (block: Block): boolean =>
  ['console', 'sh', 'sql', 'csv'].includes(block.language) && !/^(not run:|run by) /.test(block.remark);
