// The lock, the ports and the database of the demo, each without the rest of it.
import { createServer, type Server } from 'node:net';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { cloneOfProject, type Clone } from '../support/clone.js';
import { listen } from '../support/listen.js';
import { freePort } from '../support/postgres-server.js';
import { type Running, begin } from '../support/program.js';
import { until } from '../support/until.js';

type DemoPostgresFile = typeof import('../../src/demo/demo-postgres.js');
type KeptPorts = import('../../src/demo/kept.js').KeptPorts;
type KeptFile = typeof import('../../src/demo/kept.js');
type DemoFolderFile = typeof import('../../src/demo/demo-folder.js');

const PORT_NAMES = ['PORT', 'MANAGEMENT_PORT', 'ISSUER_PORT', 'DATABASE_PORT'] as const;

/** What is built in a clone has the folders of this clone. */
async function load<File>(clone: Clone, path: string): Promise<File> {
  return (await import(clone.built(path))) as File;
}

describe('the lock of the demo', () => {
  const clone = cloneOfProject();
  /** Takes the lock, says so, and keeps it. */
  const LOCKER = `
    const { lockDemo } = await import('${clone.built('demo/demo-lock.js')}');
    const { prepareDataFolder } = await import('${clone.built('demo/demo-folder.js')}');
    prepareDataFolder();
    try {
      await lockDemo();
      console.log('locked');
      setInterval(() => undefined, 1_000_000);
    } catch ({ message }) {
      console.log(message);
    }`;
  const starts: Running[] = [];
  afterAll(() => starts.forEach(({ child }) => child.kill('SIGKILL')));
  const lock = (): Running => {
    const words = [process.execPath, '--input-type=module', '-e', LOCKER];
    const start = begin(words, clone.folder, {});
    starts.push(start);
    return start;
  };

  it('belongs to one of several starts at the same moment, and is free after SIGKILL', async () => {
    const first = [lock(), lock(), lock()];
    await until(async () => first.every(({ output }) => output.stdout !== ''));
    const holders = first.filter(({ output }) => output.stdout === 'locked\n');
    const refused = first.filter((start) => !holders.includes(start));
    expect(holders).toHaveLength(1);
    for (const { output } of refused) expect(output.stdout).toMatch(/^The demo runs already, as /);

    holders[0]?.child.kill('SIGKILL');
    await holders[0]?.ended;
    const next = lock();
    await until(async () => next.output.stdout !== '');
    expect(next.output.stdout).toBe('locked\n');
  });
});

describe('the ports of the demo', () => {
  const clone = cloneOfProject();
  const otherClone = cloneOfProject();
  const servers: Server[] = [];
  afterAll(() => servers.forEach((server) => server.close()));

  const said: string[] = [];
  beforeEach(() => {
    said.length = 0;
    jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
      said.push(String(text));
      return true;
    });
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  async function releaseAll({ release }: KeptPorts): Promise<void> {
    for (const name of PORT_NAMES) await release(name);
  }

  async function keptFile(ofClone: Clone): Promise<KeptFile> {
    const { prepareDataFolder } = await load<DemoFolderFile>(ofClone, 'demo/demo-folder.js');
    prepareDataFolder();
    return load<KeptFile>(ofClone, 'demo/kept.js');
  }

  it.each([
    { variable: 'PORT', value: '70000' },
    { variable: 'ISSUER_PORT', value: 'abc' },
  ])('refuses $variable=$value', async ({ variable, value }) => {
    const { keep } = await keptFile(clone);
    await expect(keep({ [variable]: value })).rejects.toThrow(
      `${variable} is "${value}": a whole number from 1 to 65535 is needed.`,
    );
  });

  it('are different in two clones that start at the same moment', async () => {
    const files = [await keptFile(clone), await keptFile(otherClone)];
    const both = await Promise.all(files.map(({ keep }) => keep({})));
    const numbers = both.flatMap(({ kept }) => PORT_NAMES.map((name) => kept[name]));
    expect(numbers).toHaveLength(8);
    expect(new Set(numbers).size).toBe(8);
    for (const ports of both) await releaseAll(ports);
  });

  it('are those of the last start; where a program has one, another is taken, which is said', async () => {
    const { keep, save } = await keptFile(clone);
    const program = createServer();
    servers.push(program);
    const taken = await listen(program);
    const PORT = await freePort();
    save({
      PORT,
      MANAGEMENT_PORT: await freePort(),
      ISSUER_PORT: await freePort(),
      DATABASE_PORT: taken,
      secret: 'kept',
    });
    const ports = await keep({});
    await releaseAll(ports);
    const { kept } = ports;
    expect(kept).toMatchObject({ PORT, secret: 'kept' });
    expect(said).toEqual([
      `Port ${taken} is taken by another program: DATABASE_PORT of the demo is ${kept.DATABASE_PORT} ` +
        'from now on. Load .data/demo.env again in open terminals.\n',
    ]);
  });
});

describe('the database of the demo', () => {
  const clone = cloneOfProject();
  const inData = (name: string): string => join(clone.databaseFolder, 'postgres', name);

  async function create() {
    const { DemoPostgres } = await load<DemoPostgresFile>(clone, 'demo/demo-postgres.js');
    return DemoPostgres.create();
  }

  /** Starts and stops it on a free port. */
  async function startAndStop(): Promise<void> {
    const postgres = await create();
    await postgres.endOrphan();
    await postgres.start(await freePort(), () => Promise.resolve());
    await postgres.stop();
  }

  it.each([
    { what: 'an empty lock file', content: '' },
    { what: 'the lock file of a server that is another program', content: '1\n/data\n1\n1\n' },
  ])('starts again beside $what', async ({ content }) => {
    await startAndStop();
    writeFileSync(inData('postmaster.pid'), content);
    await expect(startAndStop()).resolves.toBeUndefined();
  });

  it('says that its data is of another version of PostgreSQL, and how to go on', async () => {
    const version = readFileSync(inData('PG_VERSION'), 'utf8');
    writeFileSync(inData('PG_VERSION'), '9\n');
    await expect(startAndStop()).rejects.toThrow(
      /incompatible with server\. [^\n]* delete \S+\.data\S*.* to start afresh\.$/,
    );
    writeFileSync(inData('PG_VERSION'), version);
  });
});
