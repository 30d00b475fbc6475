import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT } from './program.js';

/** A code block of a page. CONTRIBUTING.md ("Documentation") says what the comments before a block mean. */
export interface Block {
  readonly page: string;
  readonly heading: string;
  /** Of its first line of text, from 1. */
  readonly line: number;
  readonly language: string;
  readonly text: string;
  /** What the comment `<!-- test: … -->` before it says, in parts. */
  readonly remarks: readonly string[];
}

/** All pages for people, as paths from the project's folder. */
export const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...readdirSync(join(PROJECT, 'docs'))
    .toSorted()
    .map((name) => `docs/${name}`),
];

export const textOf = (page: string): string => readFileSync(join(PROJECT, page), 'utf8');

/** The code blocks of a page, in their order. */
export function blocksOf(page: string): Block[] {
  const text = textOf(page);
  const fenced = /^( *)```(\w+)\n([^]*?)^\1```$/gm;
  return [...text.matchAll(fenced)].map((match) => {
    const [, indent = '', language = '', body = ''] = match;
    const before = text.slice(0, match.index);
    const [, remarks = ''] = /<!-- test: ([^>]*) -->\s*$/.exec(before) ?? [];
    return {
      page,
      heading: [...before.matchAll(/^#+ (.*)$/gm)].at(-1)?.[1] ?? '',
      line: before.split('\n').length + 1,
      language,
      text: body.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      remarks: remarks.split('; ').filter(Boolean),
    };
  });
}

/** The rest of the remark that begins with these words; undefined where there is none. */
export const remark = ({ remarks }: Block, beginning: string): string | undefined =>
  remarks
    .find((one) => one.startsWith(beginning))
    ?.slice(beginning.length)
    .trim();

export interface Step {
  readonly command: string;
  readonly printed: string;
}

/** Commands of a console block, each with what it prints; a line that ends with a backslash goes on in the next. */
export function dialogue({ text }: Block): Step[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [, command = '', printed = ''] = /^((?:.*\\\n)*.*)\n?([^]*)$/.exec(part) ?? [];
      return { command, printed };
    });
}

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const TIME = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;

/** The ids in a text, each once. */
export const idsIn = (text: string): string[] => [
  ...new Set([...text.matchAll(new RegExp(UUID, 'g'))].map(([id]) => id)),
];

/**
 * Finds what a page shows in what was really printed: `…` stands for anything, ids, times and numbers of migrations differ, white space
 * does not count.
 * Each id of the page is a group of its own, so that later commands can name the real one.
 */
export function asPrinted(shown: string): { readonly pattern: RegExp; readonly ids: string[] } {
  const exact = shown.replaceAll(/\s/g, '').replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
  const ids: string[] = [];
  const source = exact
    .replaceAll(new RegExp(UUID, 'g'), (id) => {
      const known = ids.indexOf(id);
      if (known >= 0) return `\\${known + 1}`;
      ids.push(id);
      return `(${UUID})`;
    })
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\\\.\d{3}Z/g, TIME)
    .replaceAll(/\d{4}(?=_[a-z])/g, String.raw`\d{4}`)
    .replaceAll('…', '.*');
  return { pattern: new RegExp(source), ids };
}
