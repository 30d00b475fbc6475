import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { databaseFolderOf } from '../../src/demo/demo-folder.js';
import { copyOfProject } from '../support/page-walk.js';
import { freePort, isFree } from '../support/postgres-server.js';
import { type Running, begin, shell } from '../support/program.js';
import { until } from '../support/service.js';

const folder = copyOfProject();
const database = databaseFolderOf(folder);
const ports: Record<string, string> = {};
for (const name of ['PORT', 'MANAGEMENT_PORT', 'ISSUER_PORT']) ports[name] = `${await freePort()}`;
const children: ChildProcess[] = [];
const branch = join(folder, 'migrations/0099_of_a_branch.sql');

afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  remove(folder);
});

/** A clone with what its demo keeps elsewhere. */
function remove(clone: string): void {
  for (const path of [clone, databaseFolderOf(clone)])
    rmSync(path, { recursive: true, force: true });
}

function launch(clone: string, environment: Record<string, string>): Running {
  const running = begin([process.execPath, 'dist/demo/main.js'], clone, environment);
  children.push(running.child);
  return running;
}

/** Starts the demo, and waits until it runs or has ended. */
async function start(environment: Record<string, string> = {}) {
  const { child, output, ended } = launch(folder, { ...ports, ...environment });
  let status: unknown;
  child.once('close', (code) => {
    status = code;
  });
  await until(async () => output.stdout.includes('Ctrl-C stops') || status !== undefined);
  const end = async (signal: NodeJS.Signals): Promise<unknown> => {
    child.kill(signal);
    return (await ended).status;
  };
  return { out: output.stdout, err: output.stderr, status, end };
}

/** What a terminal prints that has loaded the variables of a start. */
const paste = async (variables: string, line: string): Promise<string> =>
  (await shell(`exec 2>&1\n${variables}\n${line}`, folder, {})).stdout;
const variablesOf = (output: string): string => output.match(/(?:^export .*\n)+/m)?.[0] ?? '';
const databasePort = (output: string) => /@127\.0\.0\.1:(\d+)\/postgres/.exec(output)?.[1];

/** Of a shell in which somebody works on something else. */
const OF_ANOTHER_PROJECT = {
  ...{
    PGHOST: 'db.example',
    PGPORT: '1',
    PGUSER: 'other',
    PGPASSWORD: 'other',
    PGDATABASE: 'other',
  },
  ...{
    PGSSLMODE: 'verify-full',
    PGOPTIONS: '-c search_path=other',
    PGSERVICE: 'other',
    PGDATA: '/nowhere',
  },
  ...{
    HOST: '0.0.0.0',
    LC_ALL: 'xx_YY.UTF-8',
    LANG: 'xx_YY',
    TZ: 'Nowhere/Town',
    LD_LIBRARY_PATH: '/nowhere',
  },
};

let demo: Awaited<ReturnType<typeof start>>;

it('npm start prints lines to paste, and refuses a second start beside it', async () => {
  mkdirSync(join(folder, '.data'), { recursive: true });
  // Damaged, as a full disk or a power cut leaves them
  writeFileSync(join(folder, '.data/kept.json'), '{"PORT":70000,"secret":""');
  for (const name of ['api-key', 'issuer-key.json', 'lock-port'])
    writeFileSync(join(folder, '.data', name), '');
  mkdirSync(join(database, 'postgres'), { recursive: true });
  demo = await start(OF_ANOTHER_PROJECT);
  expect(demo.err).toBe('');
  expect(demo.out).toContain(`API            http://127.0.0.1:${ports['PORT']}\n`);
  const pasted = /^(?:curl |echo |npm run )(?:.*\\\n)*.*$/gm;
  const lines = [...demo.out.matchAll(pasted)].map(([line]) => line);
  const variables = variablesOf(demo.out);
  const kept = join(folder, '.data/demo.env');
  expect(readFileSync(kept, 'utf8')).toBe(variables);
  expect(statSync(kept).mode & 0o777).toBe(0o600);
  const printed: string[] = [];
  for (const line of lines) printed.push(await paste(variables, line));
  expect(printed).toEqual([
    expect.stringMatching(/^\{"commentType":/),
    expect.stringMatching(/^\{"commentTypeCodes":/),
    expect.stringMatching(/^\{"communicationRecords":\[\{"codeType":"SAMPLE-APPOINTMENT",/),
    '',
    '',
    expect.stringMatching(/created \S+_add_my_code\.sql/),
    expect.stringContaining('+ record codeType "MY-TYPE", code "MY-CODE": "My first code" added'),
    expect.stringMatching(/applied {2}\d{4}_add_my_code\n$/), // the samples are no drift
    expect.stringMatching(/^\{"communicationRecords":\[/),
  ]);
  await until(async () => (await paste(variables, lines.at(-1) ?? '')).includes('My first code'));
  const second = await start();
  expect([second.status, second.err]).toEqual([1, expect.stringContaining('runs already')]);
});

it('npm start starts again after it was killed, on the same ports, and leaves nothing behind on Ctrl-C', async () => {
  await demo.end('SIGKILL');
  // The numbers of its processes belong to another program by now, which goes on
  const postmaster = join(database, 'postgres/postmaster.pid');
  const [pid = '', ...lines] = readFileSync(postmaster, 'utf8').split('\n');
  process.kill(Number(pid), 'SIGKILL');
  const other = spawn('sleep', ['600']);
  children.push(other);
  writeFileSync(postmaster, [other.pid, ...lines].join('\n'));
  writeFileSync(branch, '-- Up Migration\nselect 1;\n');
  const again = await start({ PORT: '', MANAGEMENT_PORT: '', ISSUER_PORT: '' });
  expect(again.err).toBe('');
  expect([other.exitCode, other.signalCode]).toEqual([null, null]);
  const withoutToken = (output: string) => variablesOf(output).replace(/TOKEN=.*/, '');
  expect(withoutToken(again.out)).toBe(withoutToken(demo.out));
  const doctor = 'printf "%s\\n" "$KEY" "$TOKEN" | node dist/doctor.js';
  expect(await paste(variablesOf(demo.out), doctor)).toMatch(/\nCalls are answered\.\n$/);
  expect(await again.end('SIGINT')).toBe(0);
  for (const port of [...Object.values(ports), databasePort(demo.out)])
    expect(await isFree(Number(port))).toBe(true);
  const stopped = await paste(variablesOf(demo.out), 'node dist/migrate.js status');
  expect(stopped).toContain('This is the database of the demo. Start it in another terminal');
});

it('npm start ends on a signal that comes during its start, with its database', async () => {
  const lockFile = join(database, 'postgres/postmaster.pid');
  const starting = launch(folder, ports);
  await until(async () => existsSync(lockFile));
  starting.child.kill('SIGINT');
  starting.child.kill('SIGINT'); // npm passes on what the terminal has sent already
  expect((await starting.ended).status).toBe(0);
  expect(existsSync(lockFile)).toBe(false);
  expect(await isFree(Number(databasePort(demo.out)))).toBe(true);
});

it.each([
  ['an empty lock file', 'postgres/postmaster.pid', ''],
  [
    'a lock file of a server that is another program',
    'postgres/postmaster.pid',
    '1\n/data\n1\n1\n',
  ],
])('npm start starts again beside %s', async (_, name, content) => {
  writeFileSync(join(database, name), content);
  const again = await start();
  expect(again.err).toBe('');
  expect(await again.end('SIGINT')).toBe(0);
});

it('npm start says that its data is of another version of PostgreSQL, and how to go on', async () => {
  const file = join(database, 'postgres/PG_VERSION');
  const version = readFileSync(file, 'utf8');
  writeFileSync(file, '9\n');
  const { status, err } = await start();
  writeFileSync(file, version);
  expect(status).toBe(1);
  expect(err).toMatch(
    /incompatible with server\. [^\n]* delete \S+\.data\S*.* to start afresh\.\n$/,
  );
});

it('two starts of one clone at the same moment are one demo and one sentence', async () => {
  const clone = copyOfProject();
  const starts = [launch(clone, {}), launch(clone, {})];
  const refused = await Promise.race(starts.map(({ ended }) => ended));
  expect(refused).toMatchObject({
    status: 1,
    stdout: '',
    stderr: expect.stringContaining('runs already'),
  });
  const running = starts.filter(({ child }) => child.exitCode === null);
  for (const { child, output, ended } of running) {
    await until(async () => output.stdout.includes('Ctrl-C stops') || child.exitCode !== null);
    child.kill('SIGINT');
    expect((await ended).status).toBe(0);
  }
  expect(running).toHaveLength(1);
  remove(clone);
});

it('two clones that start at the same moment take different ports', async () => {
  const clones = [copyOfProject(), copyOfProject()];
  const running = clones.map((clone) => launch(clone, {}));
  const addresses: unknown[] = [];
  for (const { output, child } of running) {
    await until(async () => output.stdout.includes('Ctrl-C stops') || child.exitCode !== null);
    addresses.push(/^export API=.*/m.exec(output.stdout)?.[0]);
  }
  expect(addresses).toEqual([expect.anything(), expect.anything()]);
  expect(new Set(addresses).size).toBe(2);
  for (const { child, ended } of running) {
    child.kill('SIGTERM');
    expect((await ended).status).toBe(0);
  }
  clones.forEach(remove);
});

it.each([
  [{ PORT: '70000' }, 'PORT is "70000": a whole number from 1 to 65535 is needed.\n'],
  [{ ISSUER_PORT: 'abc' }, 'ISSUER_PORT is "abc": a whole number from 1 to 65535 is needed.\n'],
])('npm start refuses %j', async (environment, sentence) => {
  expect(await start(environment)).toMatchObject({ status: 1, err: sentence });
});

it('npm start takes another port where a program has one, says so, and tells an old terminal', async () => {
  const server = createServer().listen(Number(databasePort(demo.out)), '127.0.0.1');
  const moved = await start();
  expect(moved.err).toMatch(/^Port \d+ is taken by another program: DATABASE_PORT of the demo/);
  await moved.end('SIGINT');
  server.close();
  const old = await paste(variablesOf(demo.out), 'node dist/keys.js list');
  expect(old).toContain('Load its variables again: . .data/demo.env');
});

it('npm start says that another branch has changed its data', async () => {
  rmSync(branch);
  writeFileSync(join(folder, 'migrations/0100_of_this_branch.sql'), '-- Up Migration\nselect 1;\n');
  const { status, err } = await start();
  expect(status).toBe(1);
  expect(err).toMatch(
    /^0099_of_a_branch.sql was applied, and its file is not here[^]* of another branch/,
  );
});

it.each([
  [{ DATABASE_URL: 'postgres://db/x' }, ['OAUTH_ISSUER', 'OAUTH_AUDIENCE']],
  [{ NODE_ENV: 'production' }, ['DATABASE_URL', 'OAUTH_ISSUER', 'OAUTH_AUDIENCE']],
])('npm start lists what is missing with %j', async (environment, missing) => {
  const { status, err } = await start(environment);
  expect(status).toBe(1);
  const named = [...err.matchAll(/^ {2}- (\w+) is not set: /gm)].map(([, name]) => name);
  expect(named).toEqual(missing);
  const [keeps = ''] = Object.keys(environment);
  expect(err).toMatch(
    new RegExp(
      `^${keeps} is set, so this is the service and not the demo. For the demo: unset ${keeps}\\n`,
    ),
  );
});
