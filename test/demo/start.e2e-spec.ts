import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../support/postgres-server.js';
import { PROJECT, cleanEnvironment } from '../support/program.js';
import { until } from '../support/service.js';

const COPIED = ['dist', 'migrations', 'scripts', 'src', 'package.json', 'package-lock.json'];
/** A copy of the project as far as the demo needs it, so that its .data is its own. */
const folder = mkdtempSync(join(tmpdir(), 'demo-'));
const ports = { PORT: '', MANAGEMENT_PORT: '', ISSUER_PORT: '' };
const children: ChildProcess[] = [];

beforeAll(async () => {
  execFileSync('chmod', ['755', folder]);
  for (const name of COPIED) cpSync(join(PROJECT, name), join(folder, name), { recursive: true });
  utimesSync(join(folder, 'package-lock.json'), 0, 0); // nothing to install in the folder that is shared,
  utimesSync(join(folder, 'dist', 'main.js'), new Date(), new Date()); // and nothing to build
  symlinkSync(join(PROJECT, 'node_modules'), join(folder, 'node_modules'));
  for (const name of Object.keys(ports) as (keyof typeof ports)[])
    ports[name] = String(await freePort());
});

afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

function start(environment: NodeJS.Dict<string> = {}) {
  const child = spawn(process.execPath, ['dist/demo/main.js'], {
    cwd: folder,
    env: { ...cleanEnvironment(ports), ...environment },
  });
  children.push(child);
  const startedAt = Date.now();
  const output = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.err += text));
  const ended = once(child, 'close').then(([status]) => status as number | null);
  const running = new Promise<void>((resolve, reject) => {
    child.stdout.on('data', () => output.out.includes('Ctrl-C stops everything') && resolve());
    void ended.then(() => reject(new Error(output.err)));
  });
  running.catch(() => undefined);
  return { child, output, ended, running, startedAt };
}

const isFree = (port: string): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(Number(port), '127.0.0.1', () => probe.close(() => resolve(true)));
  });

const databasePort = (output: string): string =>
  /@127\.0\.0\.1:(\d+)\/postgres/.exec(output)?.[1] ?? '';

describe('npm start', () => {
  it('prints a key, a token and lines to paste, only that of the token longer than 100 columns, refuses a second start beside it, and leaves nothing behind on Ctrl-C', async () => {
    const demo = start();
    await demo.running;
    const { out } = demo.output;
    expect(out.split('\n').filter((line) => line.length > 100)).toEqual([
      expect.stringMatching(/^export TOKEN='[\w-]+\.[\w-]+\.[\w-]+'$/),
    ]);
    expect(demo.output.err).toBe('');
    const lines = [...out.matchAll(/^(?:curl |echo |npm run )(?:.*\\\n)*.*$/gm)].map(
      ([line]) => line,
    );
    const variables = out.match(/(?:^export .*\n)+/m)?.[0] ?? '';
    const kept = join(folder, '.data/demo.env');
    expect(readFileSync(kept, 'utf8')).toBe(variables);
    expect(statSync(kept).mode & 0o777).toBe(0o600);
    const paste = (line: string): string =>
      execFileSync('sh', ['-c', `${variables}\n${line}`], {
        cwd: folder,
        env: cleanEnvironment({}),
        encoding: 'utf8',
      });
    const printed = lines.map(paste);
    const [update, capture, sample = '', token = '', , , created, plan, applied] = printed;
    expect(lines).toHaveLength(10);
    expect(JSON.parse(token)).toMatchObject({
      token_type: 'Bearer',
      access_token: expect.any(String),
    });
    expect(update).toMatch(/^\{"commentType":/);
    expect(capture).toMatch(/^\{"commentTypeCodes":/);
    expect(sample).toMatch(/^\{"communicationRecords":\[\{"codeType":"SAMPLE-APPOINTMENT",/);
    expect(created).toMatch(/created \S+_add_my_code\.sql/);
    expect(plan).toContain('+ record codeType "MY-TYPE", code "MY-CODE": "My first code" added');
    expect(applied).toMatch(/applied {2}\d{4}_add_my_code/);
    const record = '{"codeType":"MY-TYPE","code":"MY-CODE","description":"My first code"}';
    await until(async () => paste(lines.at(-1) ?? '') === `{"communicationRecords":[${record}]}`);
    const [, beginsAt = ''] = /BEGINS-SOON is planned to begin at\n(\S+Z),/.exec(out) ?? [];
    expect(Date.parse(beginsAt)).toBeGreaterThanOrEqual(demo.startedAt + 3 * 60_000);
    if (Date.now() < Date.parse(beginsAt)) expect(sample).not.toContain('BEGINS-SOON');
    const second = start();
    expect(await second.ended).toBe(1);
    expect(second.output.err).toContain(
      'The demo runs already. Stop it with Ctrl-C, or use the one that runs.\n',
    );
    demo.child.kill('SIGINT');
    expect(await demo.ended).toBe(0);
    for (const port of [...Object.values(ports), databasePort(out)])
      expect(await isFree(port)).toBe(true);
    for (const name of readdirSync(join(folder, 'migrations')))
      if (name.endsWith('_add_my_code.sql')) rmSync(join(folder, 'migrations', name));
    rmSync(join(folder, '.data'), { recursive: true });
  });

  it('starts again after it was killed, with the same key', async () => {
    const killed = start();
    await killed.running;
    killed.child.kill('SIGKILL');
    await killed.ended;
    // The numbers of its processes belong to another program by now, which goes on
    const postmaster = join(folder, '.data/postgres/postmaster.pid');
    const [pid = '', ...lines] = readFileSync(postmaster, 'utf8').split('\n');
    process.kill(Number(pid), 'SIGKILL');
    const other = spawn('sleep', ['600']);
    children.push(other);
    writeFileSync(postmaster, [other.pid, ...lines].join('\n'));
    const again = start();
    await again.running;
    expect([other.exitCode, other.signalCode]).toEqual([null, null]);
    const keyOf = (text: string): string | undefined => /ols_\S+/.exec(text)?.[0];
    expect(keyOf(again.output.out)).toBe(keyOf(killed.output.out));
    again.child.kill('SIGTERM');
    expect(await again.ended).toBe(0);
    expect(await isFree(databasePort(killed.output.out))).toBe(true);
  });

  it('says which port is taken, and the remedy', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => void taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as { port: number };
    const demo = start({ PORT: String(port) });
    expect(await demo.ended).toBe(1);
    expect(demo.output.err).toMatch(
      new RegExp(
        `^PORT=${port}: the port is taken by another program on 127\\.0\\.0\\.1\\. .* set PORT to another port\\.\n$`,
      ),
    );
    taken.close();
  });

  it('says that another branch has changed its data', async () => {
    const added = join(folder, 'migrations/0099_of_another_branch.sql');
    writeFileSync(added, '-- Up Migration\nselect 1;\n');
    const first = start();
    await first.running;
    first.child.kill('SIGTERM');
    await first.ended;
    rmSync(added);
    const demo = start();
    expect(await demo.ended).toBe(1);
    expect(demo.output.err).toBe(
      '0099_of_another_branch.sql was applied, and its file is gone. Restore it, or use the release that it belongs to.\n' +
        'The data in .data may be that of another branch: go back to it, or delete the folder .data to start afresh.\n',
    );
  });

  it('says that its data is of another version', async () => {
    const version = join(folder, '.data/postgres/PG_VERSION');
    writeFileSync(version, '12\n');
    const demo = start();
    expect(await demo.ended).toBe(1);
    expect(demo.output.err).toContain(
      '.data/postgres holds data of PostgreSQL 12, and the demo runs PostgreSQL 18. Move or delete the folder .data to start afresh.\n',
    );
    writeFileSync(version, '18\n');
  });

  it.each([
    [{ DATABASE_URL: 'postgres://db/x' }, ['OAUTH_ISSUER', 'OAUTH_AUDIENCE']],
    [{ NODE_ENV: 'production' }, ['DATABASE_URL', 'OAUTH_ISSUER', 'OAUTH_AUDIENCE']],
  ])(
    'lists what is missing when half configured or in production: %j',
    async (environment, missing) => {
      const demo = start(environment);
      expect(await demo.ended).toBe(1);
      expect(
        [...demo.output.err.matchAll(/^ {2}- (\w+) is not set: /gm)].map(([, name]) => name),
      ).toEqual(missing);
      const keeps =
        'DATABASE_URL is set, so this is the service and not the demo. For the demo: unset DATABASE_URL\n';
      expect(demo.output.err.startsWith(keeps)).toBe('DATABASE_URL' in environment);
    },
  );
});
