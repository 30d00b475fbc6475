// Tests how npm's scripts read the file `.env`, which people copy from .env.example.
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from '@jest/globals';
import { isRoot } from '../../src/demo/postgres-programs.js';
import { useProjectClone } from '../support/project-copy.js';
import { readText, shell } from '../support/program.js';

const clone = useProjectClone();
const file = join(clone.folder, '.env');
const { scripts } = JSON.parse(readText('package.json')) as { scripts: Record<string, string> };
const run = (command: string, environment: Record<string, string> = {}) => shell(command, clone.folder, environment);

/** Lets scripts/prepare.mjs run a program that prints the values of these variables as JSON. */
function printVariables(...names: string[]) {
  return printVariablesWith({}, ...names);
}

function printVariablesWith(exported: Record<string, string>, ...names: string[]) {
  const program = `process.stdout.write(JSON.stringify(${JSON.stringify(names)}.map((name) => process.env[name])))`;
  writeFileSync(join(clone.folder, 'print.mjs'), program);
  return run('node scripts/prepare.mjs print.mjs', exported);
}

// A command refuses this DATABASE_URL immediately. With a valid DATABASE_URL, it would try to connect for ten seconds
beforeEach(() => writeFileSync(file, '# of this machine\nDATABASE_URL="orders"\n'));

it('npm run migrate -- status uses the database that .env names', async () => {
  const { stdout, stderr } = await run('npm run --silent migrate -- status');
  expect(stdout + stderr).toContain('DATABASE_URL does not begin with postgres://');
});

it.each(['migrate', 'keys', 'codes', 'doctor'])('npm run %s begins with the script that reads .env', (name) => {
  expect(scripts[name]).toBe(`node scripts/prepare.mjs dist/${name}.js`);
});

it.each([
  { exported: 'something', said: 'DATABASE_URL does not begin with postgres://' },
  { exported: '', said: 'DATABASE_URL is not set' },
])('an exported DATABASE_URL=$exported wins over .env', async ({ exported, said }) => {
  writeFileSync(file, 'DATABASE_URL="postgres://in-file@127.0.0.1:1/orders"\n');
  const { stderr } = await run('node scripts/prepare.mjs dist/migrate.js status', { DATABASE_URL: exported });
  expect(stderr).toContain(said);
});

it('.env may have a byte order mark, line ends of Windows, quotes over several lines, and comments', async () => {
  const lines = [
    '\uFEFFORDER_LOOKUP_PERSON=José # of this machine',
    '  export QUOTED = "a # b" # c',
    "LINES='one",
    "two'",
    'URL=postgres://u:p%23@h/d?a=b',
    'EMPTY=',
  ];
  writeFileSync(file, `${lines.join('\r\n')}\r\n`);
  expect(await printVariables('ORDER_LOOKUP_PERSON', 'QUOTED', 'LINES', 'URL', 'EMPTY')).toEqual({
    status: 0,
    stdout: JSON.stringify(['José', 'a # b', 'one\ntwo', 'postgres://u:p%23@h/d?a=b', '']),
    stderr: '',
  });
});

it('each unreadable line of .env is reported by its number only, and nothing runs', async () => {
  const lines = ['A: s3cret', 'B=s3cret#1', '', 'C="s3cret', 'D=“s3cret”', 'E="s3cret"s3cret', 's3cret', 'F=1'];
  const unreadable = lines.flatMap((line, index) => (line.includes('s3cret') ? [String(index + 1)] : []));
  writeFileSync(file, lines.join('\n'));
  const { status, stdout, stderr } = await printVariables('F');
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr.match(/(?<=^\.env, line )\d+(?= cannot be read\. Needed is NAME=value, )/gm)).toEqual(unreadable);
  expect(stderr).not.toContain('s3cret');
});

it('variables that Node.js reads before .env are reported, unless they are exported', async () => {
  writeFileSync(file, 'NODE_EXTRA_CA_CERTS=ca.pem\nNODE_USE_ENV_PROXY=1\nNODE_ENV=production\n');
  const report = (name: string) => `${name} in .env has no effect, because Node.js reads it before .env: export it.\n`;
  expect(await printVariables('NODE_ENV')).toEqual({
    status: 1,
    stdout: '',
    stderr: report('NODE_EXTRA_CA_CERTS') + report('NODE_USE_ENV_PROXY'),
  });
  const exported = { NODE_EXTRA_CA_CERTS: '', NODE_USE_ENV_PROXY: '1' };
  expect(await printVariablesWith(exported, 'NODE_ENV')).toMatchObject({ status: 0, stdout: '["production"]' });
});

it.each([
  { encoding: 'utf16le', user: 'u' }, // the file has only ASCII characters, so its bytes are also valid UTF-8
  { encoding: 'latin1', user: 'ü' },
] as const)('.env in $encoding is refused in one sentence', async ({ encoding, user }) => {
  writeFileSync(file, Buffer.from(`DATABASE_URL=postgres://${user}@h/d\n`, encoding));
  expect(await printVariables('DATABASE_URL')).toEqual({
    status: 1,
    stdout: '',
    stderr: '.env is not in UTF-8: save it as UTF-8.\n',
  });
});

it('npm start with a database in .env starts the service, which lists the missing variables', async () => {
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

// Only a program that prepare.mjs itself runs sees .env. Commands after `&&` do not
it('npm test and the other scripts that run tests do not read .env', () => {
  const testScripts = Object.entries(scripts).filter(([name]) => name.startsWith('test'));
  expect(testScripts.length).toBeGreaterThan(5);
  // Matches `prepare.mjs dist/main.js`, but not `prepare.mjs && …` or `prepare.mjs --no-build && …`
  const prepareRunsProgram = /prepare\.mjs (?!--no-build &&|&&)/;
  for (const [, script] of testScripts) expect(script).not.toMatch(prepareRunsProgram);
});

it('git ignores .env', async () => {
  expect((await shell('git check-ignore .env', process.cwd(), {})).stdout).toBe('.env\n');
});

// Root may read every file
(isRoot ? it.skip : it)('a .env that this user may not read is reported in one sentence with a remedy', async () => {
  chmodSync(file, 0);
  const { status, stderr } = await run('npm run --silent migrate -- status');
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: expect.stringMatching(/^\.env cannot be read \(\w+\): make it a file that this user may read .*\n$/),
  });
});
