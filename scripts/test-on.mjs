// `npm run test:node -- [VERSION …] [PATH …]`: all tests, or those of some files, on other versions of Node.js than that of the npm
// scripts, by default on the lowest of each line that package.json supports. They come from the package registry into .data/node.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';

const { engines, optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
const lowest = engines.node.match(/\d+\.\d+\.\d+/g);
const system = `${process.platform.replace('32', '')}-${process.arch}`;
const name = Object.keys(optionalDependencies).find((key) => key.endsWith(system));

function run(program, ...words) {
  const { status } = spawnSync(program, words, { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

const words = process.argv.slice(2);
const isVersion = (word) => /^\d+(\.\d+)*$/.test(word);
const versions = words.filter(isVersion);

for (const version of versions.length > 0 ? versions : lowest) {
  const prefix = join('.data', 'node', version);
  run('npm', 'install', '--prefix', prefix, '--no-save', `${name}@${version}`);
  console.error(`Tests on Node.js ${version}`);
  run(
    resolve(prefix, 'node_modules', '.bin', 'node'),
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    'node_modules/jest/bin/jest.js',
    ...words.filter((word) => !isVersion(word)),
  );
}
