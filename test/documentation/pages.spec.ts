// These tests check every page: links, names and blocks. The other files of this folder run the commands of the pages.
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import {
  type Block,
  PAGES,
  findAll,
  findRemark,
  isWalked,
  listAnchors,
  readBlocks,
  withoutBlocks,
} from '../support/pages.js';
import { listMetrics } from '../support/metrics.js';
import { PROJECT, readText } from '../support/program.js';

let metrics: string[];
beforeAll(async () => {
  const all = await listMetrics();
  metrics = all.map(({ name }) => name);
});

const exists = (path: string): boolean => existsSync(join(PROJECT, path));
describe.each(PAGES)('%s', (page) => {
  const text = readText(page);

  it('links to pages and headings that exist', () => {
    const broken = findAll(withoutBlocks(page), /\]\(([^)]+)\)/g).filter((link) => {
      if (link.startsWith('https://')) return false;
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? page : join(dirname(page), path);
      return !exists(target) || (anchor !== undefined && !listAnchors(target).includes(anchor));
    });
    expect(broken).toEqual([]);
  });

  it('names only files and metrics that exist, and only code that is in the named file', () => {
    const files = findAll(text, /`((?:src|test|deploy|docs|scripts|migrations|\.ci)\/[\w./-]*)`/g);
    const namedMetrics = findAll(text, /\b(order_lookup_(?!(?:owner|service)\b)\w+)/g); // all except the two roles
    expect(files.filter((path) => !exists(path))).toEqual([]);
    // Finds, for example, `POLL_INTERVAL_MS` in `src/following/followed-topic.ts`
    const namesInFiles = [...text.matchAll(/`(\w+)` (?:\(|(?:of|in)\s)`(src\/[\w./-]+\.\w+)`/g)];
    expect(namesInFiles.filter(([, name = '', path = '']) => !readText(path).includes(name))).toEqual([]);
    expect(namedMetrics.filter((name) => !metrics.includes(name))).toEqual([]);
  });

  it('gives a reason for each block of commands or code that no test runs', () => {
    const walks = readText('test/documentation/walks.e2e-spec.ts');
    const isCovered = (block: Block): boolean => {
      if (isWalked(block)) return walks.includes(`'${page}'`);
      const runner = findRemark(block, 'run by');
      if (runner) return exists(runner);
      const reason = findRemark(block, 'not run:');
      return Boolean(reason) || ['text', 'json', 'mermaid'].includes(block.language);
    };
    expect(readBlocks(page).filter((block) => !isCovered(block))).toEqual([]);
  });
});

describe('the pages', () => {
  const GROWING_PAGES = ['CONTRIBUTING.md', 'CHANGELOG.md', 'docs/decisions.md'];
  const pages = PAGES.filter((page) => !GROWING_PAGES.includes(page));

  it('have 180 lines at most, so that people read them, except three that grow with the project', () => {
    const lines = pages.map((page) => readText(page).split('\n').length - 1);
    expect(Math.max(...lines)).toBeLessThanOrEqual(180);
  });

  it('all have a link in the README', () => {
    const readme = withoutBlocks('README.md');
    const others = PAGES.filter((page) => page !== 'README.md');
    expect(others.filter((page) => !readme.includes(`](${page})`))).toEqual([]);
  });
});

describe('docs/at-night.md', () => {
  const page = readText('docs/at-night.md');

  it('has one row for each alert, and each alert links to its row', () => {
    const { spec } = parse(readText('deploy/kubernetes/monitoring/prometheus-rule.yaml')) as {
      spec: { groups: { rules: { alert: string; annotations: { runbook_url: string } }[] }[] };
    };
    const rules = spec.groups.flatMap((group) => group.rules);
    expect(findAll(page, /^\| <a id="(\w+)"><\/a>`\1` \|/gm).toSorted()).toEqual(
      rules.map(({ alert }) => alert).toSorted(),
    );
    for (const { alert, annotations } of rules) expect(annotations.runbook_url).toBe(`docs/at-night.md#${alert}`);
  });

  it('quotes only log lines whose parts are in files of src', () => {
    const quoted = findAll(page, /`([A-Za-z_]+(?: \(\w+\))?: [a-z ]+)`/g);
    const sources = readdirSync(join(PROJECT, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readText(join('src', name)))
      .join('\n');
    // The line `database (codes): failed` is composed, so src has only its parts `database` and `failed`
    const parts = quoted.flatMap((line) => line.split(/(?: \(\w+\))?: /));
    expect(parts.length).toBeGreaterThan(0);
    expect(parts.filter((part) => !sources.includes(part))).toEqual([]);
  });
});

describe('docs/operators.md', () => {
  const page = readText('docs/operators.md');
  const [line = '{}'] = findAll(page, /^(\{"level".*\})$/gm);
  const logFields = [...Object.keys(JSON.parse(line) as object), 'credential', 'reason', 'err', 'trace_id', 'span_id'];
  const [, table = ''] = page.split('| Collector | Map |\n|---|---|\n');
  /** The rows of each collector. If the first cell of a row is empty, the row belongs to the collector above it. */
  const collectors = table.split('\n\n')[0]?.split(/^\| (?=\w)/m) ?? [];

  // Elasticsearch refuses a document with a text `client` and a text `client.address`
  it.each(collectors.filter(Boolean).map((rows) => [rows.split(' |')[0] ?? '', rows] as const))(
    'maps the log for %s so that no field is both a value and an object',
    (_, rows) => {
      const renamed = new Map(
        [...rows.matchAll(/`(\w+)` to `([\w.@/]+)`/g)].map(([, from = '', to = '']) => [from, to]),
      );
      expect([...renamed.keys()].filter((name) => !logFields.includes(name))).toEqual([]);
      const names = logFields.map((name) => renamed.get(name) ?? name);
      expect(names.filter((name) => names.some((other) => other.startsWith(`${name}.`)))).toEqual([]);
    },
  );
});
