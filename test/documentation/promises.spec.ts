// test/promises.md, the list from promise to test, against the tests that there are.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { PROJECT, textOf } from '../support/program.js';

/** Folders of which each file of tests stands in the list. */
const COMPLETE = [
  'src/administration/doctor',
  'src/administration/frame',
  'src/administration/lists',
  'src/administration/migrate',
  'src/administration/migrate/plan',
  'src/auth',
  'src/auth/api-keys',
  'src/auth/issuers',
  'src/bootstrap',
  'src/configuration',
  'src/database',
  'src/html',
  'src/http',
  'src/lookups',
  'src/snapshots',
  'src/telemetry',
  'src/timers',
  'test/administration',
  'test/administration/lists',
  'test/administration/migrate',
  'test/auth',
  'test/black-box',
  'test/configuration',
  'test/database',
  'test/demo',
  'test/deploy',
  'test/documentation',
  'test/http',
  'test/lookups',
  'test/management',
  'test/snapshots',
  'test/telemetry',
];
const TEST_FILE = /\.(?:spec|e2e-spec|long-spec|tools-spec|world-spec)\.ts$/;

interface Row {
  readonly promise: string;
  readonly file: string;
  /** Words of the title of the test. */
  readonly words: string;
}

const ROW = /^\| (?<promise>.+) \| `(?<file>[^`]+)` \| (?<words>.+) \|$/gm;
const rows = [...textOf('test/promises.md').matchAll(ROW)].map(({ groups }) => groups as unknown as Row);

/** All titles of tests in a file, and whatever else stands there. */
function sourceOf(file: string): string {
  return textOf(file).replaceAll(/\\'/g, "'");
}

describe('test/promises.md', () => {
  it('has rows', () => {
    expect(rows.length).toBeGreaterThan(40);
  });

  it.each(rows)('"$promise" names a test that there is', ({ file, words }) => {
    expect(file).toMatch(TEST_FILE);
    expect(sourceOf(file)).toContain(words);
  });

  it.each(COMPLETE)('names each file of %s', (folder) => {
    const names = readdirSync(join(PROJECT, folder)).filter((name) => TEST_FILE.test(name));
    const files = names.map((name) => `${folder}/${name}`);
    const listed = new Set(rows.map(({ file }) => file));
    expect(files.filter((file) => !listed.has(file))).toEqual([]);
  });
});
