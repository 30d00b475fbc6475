// `npm run test:node [VERSION …]`: all tests on other versions of Node.js than that of the npm scripts,
// by default on the lowest of each line that package.json supports. They come from the package registry into .data/node.
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

for (const version of process.argv.length > 2 ? process.argv.slice(2) : lowest) {
  const prefix = join('.data', 'node', version);
  run('npm', 'install', '--prefix', prefix, '--no-save', `${name}@${version}`);
  console.error(`Tests on Node.js ${version}`);
  run(
    resolve(prefix, 'node_modules', '.bin', 'node'),
    '--experimental-vm-modules',
    '--disable-warning=ExperimentalWarning',
    'node_modules/jest/bin/jest.js',
  );
}
