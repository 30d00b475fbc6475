import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT, readText } from './program.js';

/** The beginning of a comment `<!-- test: … -->` before a block. PageWalk runs a block without a comment as it is. */
type Exception =
  /** `not run: REASON`: no test can run this block. */
  | 'not run:'
  /** `run by FILE`: the test or script FILE runs the block. */
  | 'run by'
  /** `write to FILE`: the block becomes the content of FILE, in the folder in which the commands run. */
  | 'write to'
  /** `as ROLE`: SQL runs as this role, such as `superuser`, and DATABASE_URL names this role. */
  | 'as'
  /** `ends with STATUS`: the exit status of the last command, if it is not 0. */
  | 'ends with';

/** A code block of a page. */
export interface Block {
  readonly heading: string;
  /** The number of the block's first line of text, from 1. */
  readonly line: number;
  readonly language: string;
  readonly text: string;
  /** The text of the comment `<!-- test: … -->` before the block, or an empty text. */
  readonly remark: string;
}

/** The pages for people, as paths from the project's folder. */
export const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...readdirSync(join(PROJECT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** Returns the first group of each match. */
export const findAll = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, group = '']) => group);

export const withoutBlocks = (page: string): string => readText(page).replaceAll(/^( *)```[^]*?^\1```$/gm, '');

/** Returns the anchors that GitHub makes of the headings, and our own. */
export const listAnchors = (page: string): string[] => [
  ...findAll(withoutBlocks(page), /^#+ (.*)$/gm).map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  ),
  ...findAll(withoutBlocks(page), /<a id="(\w+)">/g),
];

/** Returns the code blocks of a page, in their order. */
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

/** Returns the rest of a remark that begins with these words, or undefined if it begins with others. */
export const findRemark = ({ remark }: Block, beginning: Exception): string | undefined =>
  remark.startsWith(`${beginning} `) ? remark.slice(beginning.length).trim() : undefined;

/** Returns whether PageWalk runs this block. Diagrams, and blocks that a remark excepts, are not run. */
export const isWalked = (block: Block): boolean =>
  ['console', 'sh', 'sql', 'csv'].includes(block.language) && !/^(not run:|run by) /.test(block.remark);
