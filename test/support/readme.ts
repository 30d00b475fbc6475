import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT } from './program.js';

/** The code blocks of a section of README.md, by the name of their language; the heading is given as it stands there. */
export function readmeBlocks(heading: string): { readonly language: string; readonly text: string }[] {
  const readme = readFileSync(join(PROJECT, 'README.md'), 'utf8');
  const [, section] = readme.split(new RegExp(`^## ${heading}$`, 'm'));
  if (section === undefined) throw new Error(`README.md has no section "${heading}"`);
  const [body = ''] = section.split(/^## /m);
  return [...body.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(([, language = '', text = '']) => ({ language, text }));
}
