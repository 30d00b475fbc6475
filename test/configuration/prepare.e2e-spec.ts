// Tests scripts/prepare.mjs in a small project, because a copy of this project would share its node_modules.
import { cpSync, existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { afterAll, beforeEach, expect, it } from '@jest/globals';
import { listen } from '../support/ports.js';
import { PROJECT, endOf, readText, shell, startProgram } from '../support/program.js';
import { useTestFolder } from '../support/test-folder.js';
import { until } from '../support/until.js';
import { nextEvent } from '../support/waiting.js';

const workspace = useTestFolder();
const folder = join(workspace, 'packages/small');
const { platform, arch } = process;
const { engines } = JSON.parse(readText('package.json')) as { engines: unknown };

const PACKAGE = { name: 'small', version: '1.0.0', engines, dependencies: { everywhere: '1.0.0' } };
const ofDevelopment = { version: '1.0.0', dev: true };
const PACKAGES = {
  '': {},
  'node_modules/everywhere': { version: '1.0.0' },
  'node_modules/typescript': ofDevelopment,
  'node_modules/of-this-platform': { ...ofDevelopment, optional: true, os: [platform], cpu: [arch] },
  'node_modules/of-another-platform': { ...ofDevelopment, optional: true, os: ['sunos'], cpu: [arch] },
};
const SOURCE = 'export const one = 1;\n';

/** A registry of packages that refuses pings, as Nexus does, and never answers for a package. */
const registry = createServer(({ url }, response) => {
  if (url?.startsWith('/-/ping')) response.writeHead(404).end();
});
const registryUrl = `http://127.0.0.1:${await listen(registry)}`;
const NOBODY_LISTENS = 'http://127.0.0.1:9';

afterAll(() => {
  registry.closeAllConnections();
  registry.close();
});

function write(name: string, content: unknown): void {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
}

function writeLock(packages: object): void {
  write('package-lock.json', { name: 'small', lockfileVersion: 3, requires: true, packages });
}

beforeEach(() => {
  rmSync(folder, { recursive: true, force: true });
  for (const name of ['scripts', 'Dockerfile']) cpSync(join(PROJECT, name), join(folder, name), { recursive: true });
  write('package.json', PACKAGE);
  writeLock(PACKAGES);
  for (const name of ['everywhere', 'typescript', 'of-this-platform'])
    write(`node_modules/${name}/package.json`, { name, version: '1.0.0' });
  write('node_modules/.package-lock.json', {});
  write('nest-cli.json', { compilerOptions: { assets: ['page.html'] } });
  for (const name of ['src', 'dist']) write(`${name}/page.html`, '<p>');
  write('src/one.ts', SOURCE);
  write('dist/one.js.map', { sourcesContent: [SOURCE] });
  write('program.mjs', 'console.log("The program runs.");');
});

function prepare(words = ['program.mjs'], environment: Record<string, string> = {}) {
  const npm = { npm_config_registry: NOBODY_LISTENS, npm_config_cache: join(workspace, 'cache') };
  return startProgram([process.execPath, 'scripts/prepare.mjs', ...words], folder, { ...npm, ...environment });
}

/** The word with which `npm test` calls the script. */
const AS_NPM_TEST = ['--no-build'];
const PROGRAM_RUNS = { status: 0, stdout: 'The program runs.\n', stderr: '' };
const PACKAGES_NEEDED = {
  status: 1,
  stdout: '',
  stderr: expect.stringMatching(/^The packages of package-lock\.json have to be .* Nothing was changed\. .*\n$/),
};

it.each([
  { given: 'a later save of package-lock.json', change: () => touch('package-lock.json', Date.now() / 1_000 + 60) },
  { given: 'the time of a source was set to the future', change: () => touch('src/one.ts', Date.now() / 1_000 + 1e8) },
  { given: 'a file of an editor in src', change: () => write('src/.#one.ts', '') },
  { given: 'a test that is not built', change: () => write('src/one.spec.ts', '') },
  { given: 'npm prune --omit=dev', change: () => remove('node_modules/typescript', 'node_modules/of-this-platform') },
])('a command neither installs nor builds after $given', async ({ change }) => {
  change();
  expect(await endOf(prepare())).toEqual(PROGRAM_RUNS);
});

function touch(name: string, seconds: number): void {
  utimesSync(join(folder, name), seconds, seconds);
}

function remove(...names: string[]): void {
  for (const name of names) rmSync(join(folder, name), { recursive: true });
}

it.each([
  {
    given: 'package-lock.json has another version',
    change: () => writeLock({ ...PACKAGES, 'node_modules/everywhere': { version: '0.9.0' } }),
  },
  { given: 'node_modules is of another platform', change: () => remove('node_modules/of-this-platform') },
  { given: 'an installation was interrupted', change: () => remove('node_modules/.package-lock.json') },
])('if $given and no registry answers, a command asks for packages and removes nothing', async ({ change }) => {
  change();
  expect(await endOf(prepare())).toEqual(PACKAGES_NEEDED);
  expect(existsSync(join(folder, 'node_modules/everywhere'))).toBe(true);
});

it('on a mount without symbolic links, a command says so in one sentence and removes nothing', async () => {
  remove('node_modules/.package-lock.json');
  const noLinks = "symlinkSync = () => { throw Object.assign(new Error(), { code: 'ENOSYS' }); }";
  const { status, stderr } = await endOf(prepare(undefined, replaceInFs(noLinks)));
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: expect.stringMatching(/^npm has to make symbolic links, .* \(ENOSYS\)\. .*\n$/),
  });
  expect(existsSync(join(folder, 'node_modules/everywhere'))).toBe(true);
});

it('if npm ci fails on a disk without space, a command says how much space is free, and how much is needed', async () => {
  remove('node_modules/.package-lock.json');
  const smallDisk = replaceInFs('statfsSync = () => ({ bavail: 20, bsize: 1e6 })');
  const settingThatNpmRefuses = { npm_config_global: 'true' };
  const { status, stderr } = await endOf(
    prepare(undefined, {
      npm_config_registry: registryUrl,
      ...settingThatNpmRefuses,
      ...smallDisk,
    }),
  );
  expect(status).toBe(1);
  expect(stderr).toMatch(/^npm ci failed: 20 MB are free on this disk, and the packages need \d+ MB\. .*\n$/m);
});

/** Returns variables with which a program replaces a function of node:fs when it starts. */
function replaceInFs(assignment: string): Record<string, string> {
  const code = `import fs from 'node:fs'; import { syncBuiltinESMExports } from 'node:module'; fs.${assignment};`;
  const module = encodeURIComponent(`${code} syncBuiltinESMExports();`);
  return { NODE_OPTIONS: `--import=data:text/javascript,${module}` };
}

it('npm test needs the development dependencies', async () => {
  remove('node_modules/typescript');
  expect(await endOf(prepare(AS_NPM_TEST))).toEqual(PACKAGES_NEEDED);
});

it.each([
  {
    given: 'programs of node_modules may not run',
    environment: { TMPDIR: '/tmp' },
    sentence: 'npm test runs programs of node_modules,',
  },
  { given: 'TMPDIR cannot be written', environment: { TMPDIR: '/nowhere' }, sentence: 'The tests write to /nowhere,' },
])('npm test says in one sentence that $given', async ({ environment, sentence }) => {
  write('node_modules/.bin/oxlint', ''); // not executable, as on a mount with noexec
  const { status, stderr } = await endOf(prepare(AS_NPM_TEST, environment));
  expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringMatching(new RegExp(`^${sentence} .*\n$`)) });
});

it('if a package lacks a file, a command says in one sentence that npm ci is needed', async () => {
  write('program.mjs', "import 'everywhere';");
  const sentence = /^A package of node_modules is damaged: Cannot find .*everywhere.*: npm ci\n$/;
  expect(await endOf(prepare())).toEqual({ status: 1, stdout: '', stderr: expect.stringMatching(sentence) });
});

it('if another package manager runs the scripts, a command calls npm nevertheless', async () => {
  remove('node_modules/.package-lock.json');
  // A command prints the sentence of PACKAGES_NEEDED only after a failed `npm ping`, so it has called npm
  expect(await endOf(prepare(undefined, { npm_execpath: '/usr/bin/pnpm.cjs' }))).toEqual(PACKAGES_NEEDED);
});

it('if dist/ was made from another src/ and the compiler is missing, a command says so in one sentence', async () => {
  remove('node_modules/typescript');
  write('src/one.ts', `${SOURCE}export const two = 2;\n`);
  const { status, stderr } = await endOf(prepare());
  expect(status).toBe(1);
  expect(stderr).toMatch(/^dist\/ was not made from this src\/, and the compiler is not installed: .*\n$/);
});

it.each<{ setting: string; environment: Record<string, string> }>([
  { setting: 'NODE_ENV=production', environment: { NODE_ENV: 'production' } },
  { setting: 'omit=optional of npm', environment: { npm_config_omit: 'optional' } },
])('npm asks for the compiler and the packages of this platform also with $setting', async ({ environment }) => {
  remove('node_modules');
  write('package.json', {
    ...PACKAGE,
    devDependencies: { typescript: '1.0.0' },
    optionalDependencies: { 'of-this-platform': '1.0.0' },
  });
  const asked = new Set<string | undefined>();
  const note = ({ url }: IncomingMessage): unknown => asked.add(url);
  registry.on('request', note);
  const settings = { npm_config_registry: registryUrl, npm_config_audit: 'false' };
  const preparing = prepare(undefined, { ...settings, ...environment });
  const wanted = ['/everywhere', '/typescript', '/of-this-platform'];
  await until(async () => wanted.every((name) => asked.has(name)));
  registry.off('request', note);
  preparing.child.kill('SIGINT');
  await endOf(preparing);
});

it("the installation ignores bin-links, dry-run and install-strategy of a user's npm settings", async () => {
  remove('node_modules');
  const dependencies = { everywhere: '1.0.0' };
  const bin = { oxlint: 'package.json' }; // with --no-build, prepare.mjs looks for node_modules/.bin/oxlint
  write('of-npm-test/package.json', { name: 'of-npm-test', version: '1.0.0', bin, dependencies });
  write('everywhere/package.json', { name: 'everywhere', version: '1.0.0' });
  for (const name of ['of-npm-test', 'everywhere']) await shell(`tar -czf ${name}.tgz ${name}`, folder, {});
  const root = { name: 'small', version: '1.0.0', engines, dependencies: { 'of-npm-test': 'file:of-npm-test.tgz' } };
  write('package.json', root);
  writeLock({
    '': root,
    'node_modules/of-npm-test': { version: '1.0.0', resolved: 'file:of-npm-test.tgz', bin, dependencies },
    'node_modules/everywhere': { version: '1.0.0', resolved: 'file:everywhere.tgz' },
  });
  const settings = {
    npm_config_bin_links: 'false',
    npm_config_dry_run: 'true',
    npm_config_install_strategy: 'linked',
    npm_config_audit: 'false',
  };
  const { status, stderr } = await endOf(prepare(AS_NPM_TEST, { npm_config_registry: registryUrl, ...settings }));
  expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringContaining('added 2 packages') });
  expect((await endOf(prepare(AS_NPM_TEST))).stderr).toBe('');
});

it('in a workspace npm asks for the packages of this project, and Ctrl-C also ends npm', async () => {
  writeFileSync(join(workspace, 'package.json'), JSON.stringify({ name: 'root', workspaces: ['packages/*'] }));
  remove('node_modules/.package-lock.json');
  // Without an audit, npm sends only two requests: the ping, and then the question for the package
  const preparing = prepare(undefined, { npm_config_registry: registryUrl, npm_config_audit: 'false' });
  const [ping] = (await nextEvent(registry, 'request')) as [IncomingMessage];
  const [question] = (await nextEvent(registry, 'request')) as [IncomingMessage];
  expect([ping.url, question.url]).toEqual([expect.stringMatching(/^\/-\/ping/), '/everywhere']);
  const npmEnds = nextEvent(question.socket, 'close');
  preparing.child.kill('SIGINT');
  expect((await endOf(preparing)).status).toBe(130);
  await npmEnds;
});
