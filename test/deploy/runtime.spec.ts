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
const { engines, scripts, dependencies, devDependencies } = JSON.parse(read('package.json')) as {
  engines: { node: string };
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
};

describe('the version of Node.js', () => {
  const lowest = /^>=(\d+)\.(\d+)$/.exec(engines.node) ?? [];

  it('is the same in every stage of the image and for version managers', () => {
    const images = [...read('Dockerfile').matchAll(/^FROM node:([\d.]+)/gm)].map(([, one]) => one);
    expect(new Set(images).size).toBe(1);
    expect(images[0]).toMatch(new RegExp(`^${read('.nvmrc').trim()}\\.`));
  });

  it('is typed as the lowest that is supported, so that nothing newer is used', () => {
    expect(devDependencies['@types/node']?.split('.')[0]).toBe(lowest[1]);
  });

  it('is enough for every package', () => {
    const { packages } = JSON.parse(read('package-lock.json')) as {
      packages: Record<string, { engines?: { node?: string } }>;
    };
    const isEnough = (range: string): boolean =>
      range.split('||').some((part) => {
        const [, sign = '', major = '', minor = '0'] =
          /^\s*(>=|>|\^|~)?\s*v?(\d+)(?:\.(\d+|x))?/.exec(part) ?? [];
        if (sign === '^' || sign === '') return major === '20' && Number(minor) <= 19;
        return Number(major) < 20 || (major === '20' && Number(minor) <= 19);
      });
    const tooNew = Object.entries(packages).filter(
      ([, { engines: { node = '*' } = {} }]) => /\d/.test(node) && !isEnough(node),
    );
    expect(tooNew).toEqual([]);
  });

  it('ends an older one with one sentence', () => {
    const older = 'Object.defineProperty(process.versions, "node", { value: "18.20.8" });';
    const { status, stderr } = spawnSync(
      process.execPath,
      ['--import', `data:text/javascript,${older}`, 'scripts/prepare.mjs'],
      { encoding: 'utf8', cwd: PROJECT },
    );
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: `Node.js 18.20.8 is too old: version ${lowest[1]}.${lowest[2]} or later is needed.\n`,
    });
  });

  it('is checked before every script that needs it', () => {
    for (const [name, command] of Object.entries(scripts))
      if (command.includes('prepare.mjs')) {
        expect([name, command]).toEqual([
          expect.stringMatching(/^pre/),
          expect.stringMatching(/^node scripts\/prepare\.mjs( --no-build)?$/),
        ]);
      }
  });
});

describe('package.json', () => {
  it('names dependencies whose reasons stand in CONTRIBUTING.md, one line each', () => {
    const listed = [
      ...read('CONTRIBUTING.md').matchAll(/^\| `((?:@[\w-]+\/)?[\w-]+)` \| \S.*\|$/gm),
    ];
    const direct = { ...dependencies, ...devDependencies };
    expect(new Set(listed.map(([, name]) => name))).toEqual(new Set(Object.keys(direct)));
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
