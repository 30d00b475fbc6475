// `.env`, which people make of .env.example.
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from '@jest/globals';
import { isRoot } from '../../src/demo/postgres-programs.js';
import { testClone } from '../support/project-copy.js';
import { readText, shell } from '../support/program.js';

const clone = testClone();
const file = join(clone.folder, '.env');
const { scripts } = JSON.parse(readText('package.json')) as { scripts: Record<string, string> };
const run = (command: string, environment: Record<string, string> = {}) => shell(command, clone.folder, environment);

/** What is there and no connection string is refused at once, while a database would be tried for ten seconds. */
beforeEach(() => writeFileSync(file, '# of this machine\nDATABASE_URL="orders"\n'));

it('npm run migrate -- status uses the database that .env names', async () => {
  const { stdout, stderr } = await run('npm run --silent migrate -- status');
  expect(stdout + stderr).toContain('DATABASE_URL is not one of PostgreSQL');
});

it.each(['migrate', 'keys', 'codes', 'doctor'])('npm run %s is begun by the same script, which reads .env', (name) => {
  expect(scripts[name]).toBe(`node scripts/prepare.mjs dist/${name}.js`);
});

it.each([
  { exported: 'something', said: 'DATABASE_URL is not one of PostgreSQL' },
  { exported: '', said: 'DATABASE_URL is not set' },
])('DATABASE_URL=$exported that is exported wins over .env', async ({ exported, said }) => {
  writeFileSync(file, 'DATABASE_URL="postgres://in-file@127.0.0.1:1/orders"\n');
  const { stderr } = await run('node scripts/prepare.mjs dist/migrate.js status', { DATABASE_URL: exported });
  expect(stderr).toContain(said);
});

it('npm start with a database in .env is the service, which lists what is missing', async () => {
  writeFileSync(file, 'DATABASE_URL=postgres://in-file@127.0.0.1:1/orders\n');
  const { status, stderr } = await run('npm start --silent', { NODE_ENV: 'production' });
  expect(status).toBe(1);
  expect(stderr).toContain(
    'DATABASE_URL, NODE_ENV are set, so this is the service and not the demo. ' +
      'For the demo: unset DATABASE_URL NODE_ENV, here and in .env\n',
  );
  const named = [...stderr.matchAll(/^ {2}- (\w+) is not set: /gm)].map(([, name]) => name);
  expect(named).toEqual(['OAUTH_ISSUER', 'OAUTH_AUDIENCE']);
});

it('node dist/main.js does not read .env', async () => {
  expect((await run('node dist/main.js')).stderr).toContain('- DATABASE_URL is not set');
});

// What prepare.mjs runs in its own process reads it, and the commands behind it do not
it('npm test and the other tests do not read .env', () => {
  const ofTests = Object.entries(scripts).filter(([name]) => name.startsWith('test'));
  expect(ofTests.length).toBeGreaterThan(5);
  for (const [, script] of ofTests) expect(script).not.toMatch(/prepare\.mjs (?!--no-build &&|&&)/);
});

it('git ignores .env', async () => {
  expect((await shell('git check-ignore .env', process.cwd(), {})).stdout).toBe('.env\n');
});

// Root may read every file
(isRoot ? it.skip : it)('a .env that this user cannot read is one sentence with a remedy', async () => {
  chmodSync(file, 0);
  const { status, stderr } = await run('npm run --silent migrate -- status');
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: expect.stringMatching(/^\.env cannot be read \(\w+\): .*\n$/),
  });
});
