import * as fs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Configuration } from '../configuration/configuration.js';
import { Metrics } from '../telemetry/metrics.js';
import type { ServiceLogger } from '../telemetry/service-logger.js';
import { LastGoodFolder } from './last-good-folder.js';

const FILE = { name: 'codes', source: 'db:5432/orders' };
const CONTENT = { stamp: 'one', rows: [{ text: 'é𝄞"\\', bound: null }] };

let parent: string;
let folder: string;
let path: string;
let warnings: { message: string; reason?: string; path?: string }[];
let metrics: Metrics;

beforeEach(async () => {
  parent = await fs.mkdtemp(join(tmpdir(), 'order-lookup-'));
  folder = join(parent, 'last-good');
  path = join(folder, 'codes.json');
  warnings = [];
  metrics = new Metrics();
});
afterEach(() => fs.rm(parent, { recursive: true, force: true }));

function lastGoodFolder(LAST_GOOD_FOLDER = folder): LastGoodFolder {
  const configuration = Object.assign(new Configuration(), { LAST_GOOD_FOLDER });
  const logger = {
    log: () => undefined,
    warn: (entry: { message: string }) => warnings.push(entry),
  } as unknown as ServiceLogger;
  return new LastGoodFolder(configuration, metrics, logger);
}

const reasons = (): (string | undefined)[] => warnings.map(({ reason }) => reason);

it('gives back what was saved, for its owner only, and leaves nothing else in the folder', async () => {
  const kept = lastGoodFolder();
  await kept.save(FILE, { former: true });
  await kept.save(FILE, CONTENT);
  await kept.save({ ...FILE, name: 'keys' }, []);
  expect(await kept.load(FILE)).toEqual(CONTENT);
  expect((await fs.stat(path)).mode & 0o777).toBe(0o600);
  expect((await fs.stat(folder)).mode & 0o777).toBe(0o700);
  expect((await fs.readdir(folder)).toSorted()).toEqual(['codes.json', 'keys.json']);
  expect(warnings).toEqual([]);
});

it('does nothing where LAST_GOOD_FOLDER is not set', async () => {
  const kept = lastGoodFolder('');
  expect(kept.isOn).toBe(false);
  await kept.save(FILE, CONTENT);
  expect(await kept.load(FILE)).toBeUndefined();
  expect(await fs.readdir(parent)).toEqual([]);
  expect(warnings).toEqual([]);
});

const saved = { version: 1, source: FILE.source, content: CONTENT };
it.each([
  { what: 'missing', text: undefined, reason: 'ENOENT' },
  { what: 'empty', text: '', reason: 'it is damaged' },
  { what: 'cut short', text: JSON.stringify(saved).slice(0, -1), reason: 'it is damaged' },
  { what: 'no object', text: 'null', reason: 'it is damaged' },
  { what: 'an object of others', text: '{}', reason: 'it is of another version' },
  {
    what: 'of another version',
    text: JSON.stringify({ ...saved, version: 2 }),
    reason: 'it is of another version',
  },
  {
    what: 'of another source',
    text: JSON.stringify({ ...saved, source: 'other:5432/orders' }),
    reason: 'it was written for other:5432/orders, not for db:5432/orders',
  },
])('ignores a file that is $what, with one line that says so', async ({ text, reason }) => {
  await fs.mkdir(folder);
  if (text !== undefined) await fs.writeFile(path, text);
  expect(await lastGoodFolder().load(FILE)).toBeUndefined();
  expect(warnings).toEqual([
    {
      message: 'LAST_GOOD_FOLDER: a file is ignored',
      path,
      reason: expect.stringContaining(reason),
    },
  ]);
});

it('does not read what is larger than any file of ours, or no file', async () => {
  await fs.mkdir(path, { recursive: true });
  const kept = lastGoodFolder();
  expect(await kept.load(FILE)).toBeUndefined();
  await fs.rmdir(path);
  await fs.writeFile(path, '');
  await fs.truncate(path, 300 * 1024 ** 2);
  expect(await kept.load(FILE)).toBeUndefined();
  const reason = expect.stringMatching(/^it is not a file of at most \d+ bytes$/);
  expect(reasons()).toEqual([reason, reason]);
});

it('quotes nothing of a damaged file', async () => {
  await fs.mkdir(folder);
  await fs.writeFile(path, '{"secret');
  await lastGoodFolder().load(FILE);
  expect(JSON.stringify(warnings)).not.toContain('secret');
});

it('keeps the former file when a write fails, says so once, and counts each', async () => {
  const kept = lastGoodFolder();
  await kept.save(FILE, CONTENT);
  const endless: unknown[] = [];
  endless.push(endless);
  await kept.save(FILE, endless);
  await kept.save(FILE, endless);
  expect(await kept.load(FILE)).toEqual(CONTENT);
  expect(warnings).toHaveLength(1);
  expect(warnings[0]?.message).toBe(`writing ${path}: failed, retrying`);
  const text = await metrics.registry.metrics();
  expect(text).toContain('order_lookup_last_good_writes_total{result="written"} 1');
  expect(text).toContain('order_lookup_last_good_writes_total{result="failed"} 2');
});

it('leaves no temporary file behind when the file cannot be replaced', async () => {
  await fs.mkdir(join(path, 'not empty'), { recursive: true });
  await lastGoodFolder().save(FILE, CONTENT);
  expect(await fs.readdir(folder)).toEqual(['codes.json']);
  expect(warnings).toHaveLength(1);
});

it('holds a whole content at any moment, while several replicas write and one reads', async () => {
  const replicas = Array.from({ length: 5 }, () => lastGoodFolder());
  const contents = replicas.map((_, replica) => ({ replica, text: 'x'.repeat(replica * 50_000) }));
  const reader = lastGoodFolder();
  await reader.save(FILE, contents[0]);
  for (let round = 0; round < 10; round++) {
    const writes = replicas.map((replica, index) => replica.save(FILE, contents[index]));
    const found = await reader.load(FILE);
    expect(contents).toContainEqual(found);
    await Promise.all(writes);
  }
  expect(warnings).toEqual([]);
  expect(await fs.readdir(folder)).toEqual(['codes.json']);
});

it('removes temporary files of processes that were killed, and nothing else', async () => {
  const kept = lastGoodFolder();
  await kept.save(FILE, CONTENT);
  const hourAgo = new Date(Date.now() - 3_700_000);
  const make = async (name: string, changedAt: Date): Promise<void> => {
    await fs.writeFile(join(folder, name), '');
    await fs.utimes(join(folder, name), changedAt, changedAt);
  };
  await make('codes.json.0b6c4f3e-7d0a-4a52-9c0f-2f6f7e3b8a11', hourAgo);
  const beingWritten = 'keys.json.0b6c4f3e-7d0a-4a52-9c0f-2f6f7e3b8a11';
  await make(beingWritten, new Date());
  await make('codes.json.backup', hourAgo);
  await make('notes', hourAgo);
  await lastGoodFolder().removeAbandonedFiles();
  const names = ['codes.json', 'codes.json.backup', beingWritten, 'notes'];
  expect((await fs.readdir(folder)).toSorted()).toEqual(names);
});

it('a folder that is not there, or is none, has no temporary files', async () => {
  await lastGoodFolder().removeAbandonedFiles();
  await lastGoodFolder('').removeAbandonedFiles();
  await fs.writeFile(folder, '');
  await lastGoodFolder().removeAbandonedFiles();
  expect(warnings).toEqual([]);
});

it('saves of one file end in the order in which they were called, also when the service ends', async () => {
  const kept = lastGoodFolder();
  const large = 'x'.repeat(5_000_000);
  void kept.save(FILE, large);
  void kept.save(FILE, 'last');
  await kept.onApplicationShutdown();
  expect(await kept.load(FILE)).toBe('last');
  expect(await fs.readdir(folder)).toEqual(['codes.json']);
});
