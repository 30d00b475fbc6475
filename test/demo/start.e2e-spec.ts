// `npm start` as a whole. Its lock, its ports and its database have tests of their own beside this file.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { cloneOfProject } from '../support/clone.js';
import { freePort, isFree } from '../support/postgres-server.js';
import { type Running, begin, shell } from '../support/program.js';
import { until } from '../support/until.js';

const clone = cloneOfProject();
const ports = {
  PORT: String(await freePort()),
  MANAGEMENT_PORT: String(await freePort()),
  ISSUER_PORT: String(await freePort()),
};
const postmasterFile = join(clone.databaseFolder, 'postgres/postmaster.pid');
const migrationOfBranch = join(clone.folder, 'migrations/0099_of_a_branch.sql');
const children: ChildProcess[] = [];

afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

/** Of a shell in which somebody works on something else. */
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
  LC_ALL: 'xx_YY.UTF-8',
  LANG: 'xx_YY',
  TZ: 'Nowhere/Town',
  LD_LIBRARY_PATH: '/nowhere',
};

function launch(environment: Record<string, string>): Running {
  const running = begin([process.execPath, 'dist/demo/main.js'], clone.folder, environment);
  children.push(running.child);
  return running;
}

/** A demo that runs. */
interface Demo {
  readonly out: string;
  readonly err: string;
  /** Gives the status of its process. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

async function start(environment: Record<string, string> = {}): Promise<Demo> {
  const { child, output, ended } = launch(environment);
  await until(async () => output.stdout.includes('Ctrl-C stops') || child.exitCode !== null);
  expect({ status: child.exitCode, stderr: output.stderr }).toMatchObject({ status: null });
  return {
    out: output.stdout,
    err: output.stderr,
    async end(signal) {
      child.kill(signal);
      const { status } = await ended;
      return status;
    },
  };
}

/** What a terminal prints that has loaded these variables. */
async function paste(variables: string, line: string): Promise<string> {
  const { stdout } = await shell(`exec 2>&1\n${variables}\n${line}`, clone.folder, {});
  return stdout;
}

function variablesOf(output: string): string {
  return /(?:^export .*\n)+/m.exec(output)?.[0] ?? '';
}

function databasePort(output: string): number {
  return Number(/@127\.0\.0\.1:(\d+)\/postgres/.exec(output)?.[1]);
}

let first: Demo;

it('npm start prints lines to paste', async () => {
  mkdirSync(join(clone.folder, '.data'), { recursive: true });
  // Damaged, as a full disk or a power cut leaves them
  writeFileSync(join(clone.folder, '.data/kept.json'), '{"PORT":70000,"secret":""');
  for (const name of ['api-key', 'issuer-key.json', 'lock-port']) writeFileSync(join(clone.folder, '.data', name), '');
  mkdirSync(join(clone.databaseFolder, 'postgres'), { recursive: true });

  first = await start({ ...ports, ...OF_ANOTHER_PROJECT });
  expect(first.err).toBe('');
  expect(first.out).toContain(`API            http://127.0.0.1:${ports.PORT}\n`);

  const elsewhere = fetch(`http://127.0.0.2:${ports.PORT}/docs`);
  await expect(elsewhere).rejects.toThrow(); // whatever HOST of the shell says

  const variables = variablesOf(first.out);
  const variablesFile = join(clone.folder, '.data/demo.env');
  expect(readFileSync(variablesFile, 'utf8')).toBe(variables);
  expect(statSync(variablesFile).mode & 0o777).toBe(0o600);

  const lines = first.out.match(/^(?:curl |echo |npm run )(?:.*\\\n)*.*$/gm) ?? [];
  const printed: string[] = [];
  for (const line of lines) printed.push(await paste(variables, line));
  expect(printed).toEqual([
    expect.stringMatching(/^\{"commentType":/),
    expect.stringMatching(/^\{"commentTypeCodes":/),
    expect.stringMatching(/^\{"communicationRecords":\[\{"codeType":"SAMPLE-APPOINTMENT",/),
    '',
    '',
    expect.stringMatching(/created \S+_add_my_code\.sql/),
    expect.stringContaining('+ codeType "MY-TYPE", code "MY-CODE": "My first code" added'),
    expect.stringMatching(/applied {2}\d+_add_my_code\n$/), // the samples are no drift
    expect.stringMatching(/^\{"communicationRecords":\[/),
  ]);
  const lastLine = lines.at(-1) ?? '';
  await until(async () => (await paste(variables, lastLine)).includes('My first code'));
});

it('npm start starts again after it was killed, on the same ports, and leaves nothing behind on Ctrl-C', async () => {
  await first.end('SIGKILL');
  // The numbers of its processes belong to another program by now, which goes on
  const [postmaster = '', ...lines] = readFileSync(postmasterFile, 'utf8').split('\n');
  process.kill(Number(postmaster), 'SIGKILL');
  const other = spawn('sleep', ['600']);
  children.push(other);
  writeFileSync(postmasterFile, [other.pid, ...lines].join('\n'));
  writeFileSync(migrationOfBranch, '-- Up Migration\nselect 1;\n');

  const again = await start({ PORT: '', MANAGEMENT_PORT: '', ISSUER_PORT: '' });
  expect(again.err).toBe('');
  expect({ status: other.exitCode, signal: other.signalCode }).toEqual({
    status: null,
    signal: null,
  });
  const withoutToken = (output: string) => variablesOf(output).replace(/TOKEN=.*/, '');
  expect(withoutToken(again.out)).toBe(withoutToken(first.out));
  const doctor = 'printf "%s\\n" "$KEY" "$TOKEN" | node dist/doctor.js';
  expect(await paste(variablesOf(first.out), doctor)).toMatch(/\nCalls are answered\.\n$/);

  expect(await again.end('SIGINT')).toBe(0);
  const used = [...Object.values(ports).map(Number), databasePort(first.out)];
  for (const port of used) expect({ port, isFree: await isFree(port) }).toEqual({ port, isFree: true });
});

it('npm start ends on a signal that comes during its start, with its database', async () => {
  const starting = launch(ports);
  await until(async () => existsSync(postmasterFile));
  starting.child.kill('SIGINT');
  starting.child.kill('SIGINT'); // npm passes on what the terminal has sent already
  const { status } = await starting.ended;
  expect(status).toBe(0);
  expect(existsSync(postmasterFile)).toBe(false);
  expect(await isFree(databasePort(first.out))).toBe(true);
});

it('npm start says that its data may be that of another branch where a migration cannot be applied', async () => {
  rmSync(migrationOfBranch);
  writeFileSync(join(clone.folder, 'migrations/0100_of_this_branch.sql'), '-- Up Migration\nselect nope;\n');
  const { status, stderr } = await launch(ports).ended;
  expect(status).toBe(1);
  expect(stderr).toMatch(/^0100_of_this_branch\.sql, line 2: column "nope" does not exist\n[^]* of another branch/);
});

it('npm start with settings of the service is the service, and lists what is missing', async () => {
  const environment = { DATABASE_URL: 'postgres://db/x', NODE_ENV: 'production' };
  const { status, stderr } = await launch(environment).ended;
  expect(status).toBe(1);
  const firstLine =
    'DATABASE_URL, NODE_ENV are set, so this is the service and not the demo. ' +
    'For the demo: unset DATABASE_URL NODE_ENV\n';
  expect(stderr.startsWith(firstLine)).toBe(true);
  const named = [...stderr.matchAll(/^ {2}- (\w+) is not set: /gm)].map(([, name]) => name);
  expect(named).toEqual(['OAUTH_ISSUER', 'OAUTH_AUDIENCE']);
});
