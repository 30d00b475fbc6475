import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { copyOfProject } from '../support/page-walk.js';
import { freePort } from '../support/postgres-server.js';
import { cleanEnvironment } from '../support/program.js';
import { until } from '../support/service.js';

const folder = copyOfProject();
const ports = { PORT: '', MANAGEMENT_PORT: '', ISSUER_PORT: '' };
const children: ChildProcess[] = [];

beforeAll(async () => {
  for (const name of Object.keys(ports) as (keyof typeof ports)[])
    ports[name] = String(await freePort());
});
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

function start(environment: Record<string, string> = {}) {
  const env = cleanEnvironment({ ...ports, ...environment });
  const child = spawn(process.execPath, ['dist/demo/main.js'], { cwd: folder, env });
  children.push(child);
  const output = { out: '', err: '' };
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.err += text));
  const ended = once(child, 'close').then(([status]) => status as number | null);
  const running = new Promise<void>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output.out += text;
      if (output.out.includes('Ctrl-C stops everything')) resolve();
    });
    void ended.then(() => reject(new Error(output.err)));
  });
  running.catch(() => undefined);
  return { child, output, ended, running };
}

const isFree = (port: string): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer().once('error', () => resolve(false));
    probe.listen(Number(port), '127.0.0.1', () => probe.close(() => resolve(true)));
  });
const databasePort = (output: string): string =>
  /@127\.0\.0\.1:(\d+)\/postgres/.exec(output)?.[1] ?? '';

describe('npm start', () => {
  it('prints lines to paste, refuses a second start beside it, and leaves nothing behind on Ctrl-C', async () => {
    const demo = start();
    await demo.running;
    const { out, err } = demo.output;
    expect(err).toBe('');
    const lines = [...out.matchAll(/^(?:curl |echo |npm run )(?:.*\\\n)*.*$/gm)].map(
      ([line]) => line,
    );
    const variables = out.match(/(?:^export .*\n)+/m)?.[0] ?? '';
    const kept = join(folder, '.data/demo.env');
    expect(readFileSync(kept, 'utf8')).toBe(variables);
    expect(statSync(kept).mode & 0o777).toBe(0o600);
    const env = cleanEnvironment({});
    const paste = (line: string): string =>
      execFileSync('sh', ['-c', `${variables}\n${line}`], { cwd: folder, env, encoding: 'utf8' });
    expect(lines.map(paste)).toEqual([
      expect.stringMatching(/^\{"commentType":/),
      expect.stringMatching(/^\{"commentTypeCodes":/),
      expect.stringMatching(/^\{"communicationRecords":\[\{"codeType":"SAMPLE-APPOINTMENT",/),
      expect.stringMatching(/"access_token":"/),
      '',
      '',
      expect.stringMatching(/created \S+_add_my_code\.sql/),
      expect.stringContaining('+ record codeType "MY-TYPE", code "MY-CODE": "My first code" added'),
      expect.stringMatching(/applied {2}\d{4}_add_my_code/),
      expect.stringMatching(/^\{"communicationRecords":\[/),
    ]);
    const record = '{"codeType":"MY-TYPE","code":"MY-CODE","description":"My first code"}';
    await until(async () => paste(lines.at(-1) ?? '') === `{"communicationRecords":[${record}]}`);
    const second = start();
    expect(await second.ended).toBe(1);
    expect(second.output.err).toContain('The demo runs already.');
    demo.child.kill('SIGINT');
    expect(await demo.ended).toBe(0);
    for (const port of [...Object.values(ports), databasePort(out)])
      expect(await isFree(port)).toBe(true);
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
    writeFileSync(join(folder, 'migrations/0099_of_a_branch.sql'), '-- Up Migration\nselect 1;\n');
    const again = start();
    await again.running;
    expect([other.exitCode, other.signalCode]).toEqual([null, null]);
    const keyOf = (text: string): string | undefined => /ols_\S+/.exec(text)?.[0];
    expect(keyOf(again.output.out)).toBe(keyOf(killed.output.out));
    again.child.kill('SIGTERM');
    expect(await again.ended).toBe(0);
    expect(await isFree(databasePort(killed.output.out))).toBe(true);
  });

  it('says that another branch has changed its data', async () => {
    rmSync(join(folder, 'migrations/0099_of_a_branch.sql'));
    const demo = start();
    expect(await demo.ended).toBe(1);
    expect(demo.output.err).toMatch(/^0099_of_a_branch.sql was applied, and its file is gone/);
  });

  it.each([
    [{ DATABASE_URL: 'postgres://db/x' }, ['OAUTH_ISSUER', 'OAUTH_AUDIENCE']],
    [{ NODE_ENV: 'production' }, ['DATABASE_URL', 'OAUTH_ISSUER', 'OAUTH_AUDIENCE']],
  ])('lists what is missing with %j', async (environment, missing) => {
    const demo = start(environment);
    expect(await demo.ended).toBe(1);
    const named = demo.output.err.matchAll(/^ {2}- (\w+) is not set: /gm);
    expect([...named].map(([, name]) => name)).toEqual(missing);
    const keeps = 'DATABASE_URL is set, so this is the service and not the demo. For the demo:';
    expect(demo.output.err.startsWith(keeps)).toBe('DATABASE_URL' in environment);
  });
});
