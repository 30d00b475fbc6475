// Tests `npm start` as a whole. Most tests need the data of the tests before them, because they share one clone. So
// keep their order, and run the whole file: with `-t` a later test may fail.
import { type ChildProcess, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { afterAll, expect, it } from '@jest/globals';
import { isRoot } from '../../src/demo/postgres-programs.js';
import { AREAS } from '../../src/lookups/code-rows.js';
import { fetchReply } from '../support/exchange.js';
import { type Clone, useProjectClone } from '../support/project-copy.js';
import { isFree, listen } from '../support/ports.js';
import { type RunningProgram, endOf, shell, startProgram } from '../support/program.js';
import { READY_LIMIT_MS } from '../support/reachable-service.js';
import { until } from '../support/until.js';
import { nextEvent } from '../support/waiting.js';

const clone = useProjectClone();
const otherClone = useProjectClone();
const migrationOfBranch = join(clone.folder, 'migrations/0099_of_a_branch.sql');
const children: ChildProcess[] = [];
/** Another program that has taken the exported port. */
const otherProgram = createServer();
const takenPort = String(await listen(otherProgram));

/** If these words are put before a command, the command runs in a new network without a working loopback device. */
const WITHOUT_NETWORK = isRoot ? ['unshare', '-n'] : ['unshare', '--map-current-user', '-n'];
const canUnshare = spawnSync('unshare', [...WITHOUT_NETWORK.slice(1), 'true']).status === 0;

afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  otherProgram.close();
});

/** The variables of a shell in which somebody works on another project. */
const OF_ANOTHER_PROJECT = {
  PGHOST: 'db.example',
  PGPORT: '1',
  PGUSER: 'other',
  PGPASSWORD: 'other',
  PGDATABASE: 'other',
  PGSSLMODE: 'verify-full',
  PGOPTIONS: '-c search_path=other',
  PGSERVICE: 'other',
  PGDATA: '/nowhere',
  HOST: '0.0.0.0',
  PORT: takenPort,
  MANAGEMENT_PORT: '0', // any free port
  LC_ALL: 'xx_YY.UTF-8',
  LANG: 'xx_YY',
  TZ: 'Nowhere/Town',
  LD_LIBRARY_PATH: '/nowhere',
  // Nobody listens at these proxies. Node.js 20 ignores NODE_USE_ENV_PROXY, so only newer versions would use them
  NODE_USE_ENV_PROXY: '1',
  HTTP_PROXY: 'http://127.0.0.1:9',
  HTTPS_PROXY: 'http://127.0.0.1:9',
};

function launch(environment: Record<string, string>, { folder }: Clone = clone): RunningProgram {
  const running = startProgram([process.execPath, join(folder, 'dist/demo/main.js')], folder, environment);
  children.push(running.child);
  return running;
}

/** Two demos that start at the same time on a slow machine need a longer limit than other waits. */
const START = { limitMs: READY_LIMIT_MS };
/** Matches lines that the demo prints only on a slow machine. */
const WAITING = /^The demo waits for .* …\n/gm;

/** Runs a demo that ends by itself. Returns its standard error, without the lines of a slow machine. */
async function runUntilItEnds(): Promise<{ status: number | null; said: string }> {
  const demo = launch({});
  const { child, output } = demo;
  await until(async () => output.stdout.includes('Ctrl-C stops') || child.exitCode !== null, START);
  child.kill('SIGINT'); // if the demo has started by mistake, it would never end by itself
  const { status, stderr } = await endOf(demo);
  return { status, said: stderr.replaceAll(WAITING, '') };
}

interface Demo {
  readonly out: string;
  readonly err: string;
  /** Sends a signal, and returns the exit status. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

async function start(environment: Record<string, string> = {}, inClone = clone): Promise<Demo> {
  const demo = launch(environment, inClone);
  const { child, output } = demo;
  await until(async () => output.stdout.includes('Ctrl-C stops') || child.exitCode !== null, START);
  const { stderr } = output;
  expect({ status: child.exitCode, stderr }).toEqual({ status: null, stderr }); // so that a failure shows stderr
  return {
    out: output.stdout,
    err: output.stderr.replaceAll(WAITING, ''),
    async end(signal) {
      child.kill(signal);
      const { status } = await endOf(demo);
      return status;
    },
  };
}

const lockFile = (ofClone: Clone): string => join(ofClone.databaseFolder, 'postgres/postmaster.pid');

/** Returns what a line prints in a shell into which somebody has pasted these variables. */
async function runPasted(variables: string, line: string): Promise<string> {
  const { stdout } = await shell(`exec 2>&1\n${variables}\n${line}`, clone.folder, {});
  return stdout;
}

function readVariables(output: string): string {
  return /(?:^export .*\n)+/m.exec(output)?.[0] ?? '';
}

/** Returns the variables that stay valid in a terminal if the demo is started again. Ports may change. */
function readLasting(output: string): Record<string, string> {
  const { KEY = '', CLIENT_SECRET = '', DATABASE_URL = '' } = parseEnv(readVariables(output)) as Record<string, string>;
  return { KEY, CLIENT_SECRET, DATABASE_URL };
}

function readPorts(output: string): number[] {
  return [...output.matchAll(/127\.0\.0\.1:(\d+)/g)].map(([, port]) => Number(port));
}

/** The demo of the first test. The second and the third test need this demo while it runs. */
let firstDemo: Demo;

it('npm start works in two clones at the same time, with a taken port and variables of another project', async () => {
  mkdirSync(join(clone.folder, '.data'), { recursive: true });
  // Even if a migration has added a code before the first start, the demo loads its samples
  const code = "insert into communication_code values ('ZONE', 'NORTH', 'Of a migration')";
  writeFileSync(join(clone.folder, 'migrations/0098_of_ones_own.sql'), `-- Up Migration\n${code};\n`);
  // A full disk or a power cut may leave these two files empty, and the folder of the database, too
  for (const name of ['api-key', 'issuer-key.json']) writeFileSync(join(clone.folder, '.data', name), '');
  mkdirSync(join(clone.databaseFolder, 'postgres'), { recursive: true });

  const [first, second] = await Promise.all([start(OF_ANOTHER_PROJECT), start(OF_ANOTHER_PROJECT, otherClone)]);
  firstDemo = first;
  for (const { err } of [first, second])
    expect(err).toMatch(/^Port \d+ is taken, or needs more rights: the demo has \d+ instead\.\n$/);
  const [ports, otherPorts] = [new Set(readPorts(first.out)), new Set(readPorts(second.out))];
  expect(ports.size).toBe(['service', 'management', 'issuer', 'database'].length);
  expect([...otherPorts].filter((port) => ports.has(port))).toEqual([]);
  expect(await second.end('SIGINT')).toBe(0);
  for (const port of otherPorts) expect(await isFree(port)).toBe(true);

  const elsewhere = fetch(`http://127.0.0.2:${readPorts(first.out)[0]}/docs`);
  await expect(elsewhere).rejects.toThrow(); // the demo listens only on 127.0.0.1, whatever HOST the shell exports

  expect(first.out.match(/^\d(?=\. )/gm)).toEqual(['1', '2', '3', '4', '5']); // the steps
  const variables = readVariables(first.out);
  const variablesFile = join(clone.folder, '.data/demo.env');
  expect(readFileSync(variablesFile, 'utf8')).toBe(variables);
  expect(statSync(variablesFile).mode & 0o777).toBe(0o600);

  const lines = first.out.match(/^(?:curl |echo |npm run )(?:.*\\\n)*.*$/gm) ?? [];
  const printed: string[] = [];
  for (const line of lines) printed.push(await runPasted(variables, line));
  expect(printed).toEqual([
    ...AREAS.map(() => expect.stringMatching(/^\{"\w+":\["/)),
    expect.stringMatching(
      /^\{"communicationRecords":\[\{"codeType":"SAMPLE-APPOINTMENT","code":"\S+","description":"Sample: /,
    ),
    '', // codes export > codes.csv
    '', // echo … >> codes.csv
    expect.stringMatching(/created \S+_add_my_code\.sql/),
    expect.stringContaining('+ codeType "MY-TYPE", code "MY-CODE", description "My first code" added'),
    expect.stringMatching(/applied {2}\d+_add_my_code\n$/),
    expect.stringMatching(/^\{"communicationRecords":\[/),
  ]);
  const lastLine = lines.at(-1) ?? '';
  await until(async () => (await runPasted(variables, lastLine)).includes('My first code'));
});

it('npm start says that the demo of this clone runs already, and names its process', async () => {
  const { status, said } = await runUntilItEnds();
  expect(status).toBe(1);
  expect(said).toMatch(
    /^The demo runs already, as process \d+\. Use it, or stop it with Ctrl-C in its terminal, .*\n$/,
  );
  const { API = '' } = parseEnv(readVariables(firstDemo.out)) as Record<string, string>;
  expect((await fetchReply(API)).status).toBe(200); // the running demo goes on
});

it('npm start uses the database that a killed demo left running, and Ctrl-C leaves no process', async () => {
  await firstDemo.end('SIGKILL'); // its database goes on running
  writeFileSync(migrationOfBranch, '-- Up Migration\nselect 1;\n');
  const again = await start();
  expect(again.err).toBe('');
  expect(readLasting(again.out)).toEqual(readLasting(firstDemo.out));
  const lines = [
    'printf "%s\\n" "$KEY" "$TOKEN" | node dist/doctor.js',
    'npm run --silent codes -- export communication-codes',
  ];
  const said = await runPasted(readVariables(again.out), lines.join('\n'));
  expect(said).toContain('\nCalls are answered.\n');
  expect(said).toContain('MY-TYPE,MY-CODE,');
  expect(await again.end('SIGINT')).toBe(0);
  expect(existsSync(lockFile(clone))).toBe(false);
  for (const port of new Set(readPorts(again.out))) expect(await isFree(port)).toBe(true);
});

it('a signal during the start ends npm start and its database', async () => {
  const starting = launch({});
  await until(async () => existsSync(lockFile(clone)), { during: starting.ended });
  starting.child.kill('SIGINT');
  starting.child.kill('SIGINT'); // at Ctrl-C the terminal sends the signal, and npm sends it again
  const { status } = await endOf(starting);
  expect(status).toBe(0);
  expect(existsSync(lockFile(clone))).toBe(false);
});

it('SIGTERM to npm, as from a supervisor, ends npm start and its database', async () => {
  const { child, ended } = startProgram(['npm', 'start'], clone.folder, {});
  children.push(child);
  await until(async () => existsSync(lockFile(clone)), { during: ended });
  child.kill('SIGTERM');
  await nextEvent(child, 'exit'); // `ended` would wait for the demo's end, even if npm ended before it
  expect(existsSync(lockFile(clone))).toBe(false);
});

it('if a migration fails, npm start says that the data may be of another branch', async () => {
  rmSync(migrationOfBranch);
  writeFileSync(join(clone.folder, 'migrations/0100_of_this_branch.sql'), '-- Up Migration\nselect nope;\n');
  const { status, said } = await runUntilItEnds();
  expect(status).toBe(1);
  expect(said).toMatch(/^0100_of_this_branch\.sql, line 2: column "nope" does not exist\n[^]* of another branch/m);
});

if (!canUnshare) process.stderr.write('SKIPPED: a machine without a loopback network needs unshare of util-linux.\n');
(canUnshare ? it : it.skip)('npm start says what to do on a machine without a loopback network', async () => {
  const words = [...WITHOUT_NETWORK, process.execPath, 'dist/demo/main.js'];
  const { status, stderr } = await endOf(startProgram(words, otherClone.folder, {}));
  expect(status).toBe(1);
  expect(stderr.replaceAll(WAITING, '')).toMatch(
    /^The database of the demo does not start: .*ENETUNREACH.* no loopback network: ip link set lo up\.\n$/,
  );
  expect(existsSync(lockFile(otherClone))).toBe(false); // the server, to which no session was possible, is stopped
});

it('npm start reports all faulty settings in one list before it starts anything', async () => {
  const { status, stderr } = await endOf(launch({ PORT: 'abc', BASE_PATH: '/x/' }));
  expect(status).toBe(1);
  expect(stderr).toContain('\n  - PORT is "abc": ');
  expect(stderr).toContain('\n  - BASE_PATH is "/x/": ');
  expect(stderr).not.toMatch(/\n {4}at /);
  expect(existsSync(lockFile(clone))).toBe(false);
});

// DATABASE_URL is tested in test/configuration/dotenv.e2e-spec.ts
it.each([
  { variable: 'OAUTH_REQUIRED_SCOPE', value: 'orders.read' },
  { variable: 'NODE_ENV', value: 'production' },
])('npm start with only $variable=$value starts the service, not the demo', async ({ variable, value }) => {
  const { status, stderr } = await endOf(launch({ [variable]: value }));
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: expect.stringMatching(new RegExp(`^${variable} is set, .*\\n[^]*- DATABASE_URL is not set: `)),
  });
});
