import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT } from './program.js';

export interface Block {
  readonly language: string;
  readonly text: string;
}

/** The code blocks of a section of README.md, in their order; the heading is given as it stands there. */
export function readmeBlocks(heading: string): Block[] {
  const readme = readFileSync(join(PROJECT, 'README.md'), 'utf8');
  const [, section] = readme.split(new RegExp(`^## ${heading}$`, 'm'));
  if (section === undefined) throw new Error(`README.md has no section "${heading}"`);
  const [body = ''] = section.split(/^## /m);
  return [...body.matchAll(/^( *)```(\w+)\n([^]*?)^\1```$/gm)].map(
    ([, indent = '', language = '', text = '']) => ({
      language,
      text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }),
  );
}

/** Commands of a console block, each with what it prints. */
export function dialogue({
  text,
}: Block): { readonly command: string; readonly printed: string }[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = '', ...printed] = part.split('\n');
      return { command, printed: printed.join('\n') };
    });
}

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const TIME = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;

/** Finds what README.md shows in what was really printed: `…` stands for anything, ids and times differ, white space does not count. */
export function asPrinted(shown: string): RegExp {
  const exact = shown.replaceAll(/\s/g, '').replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
  return new RegExp(
    exact
      .replaceAll(new RegExp(UUID, 'g'), UUID)
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\\\.\d{3}Z/g, TIME)
      .replaceAll('…', '.*'),
  );
}
