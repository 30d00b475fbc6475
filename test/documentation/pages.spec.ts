// What holds for all pages of the documentation, whatever they say. Their commands are run by the other files of this folder.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { Metrics } from '../../src/telemetry/metrics.js';
import { PAGES, blocksOf, remark, textOf } from '../support/documentation.js';
import { isWalked } from '../support/page-walk.js';
import { PROJECT } from '../support/program.js';

const telemetry = new Metrics();
telemetry.onModuleInit();

const MAX_LINES = 150;
/** Of README.md and docs/ together. */
const [MAX_ALL_LINES, MAX_ALL_WORDS] = [1_100, 8_000];
/** Pages that grow with the code. */
const GROWING = ['CHANGELOG.md', 'CONTRIBUTING.md'];
const LANGUAGES = ['console', 'sh', 'sql', 'csv', 'ts', 'json', 'text', 'nginx', 'yaml'];
/** Languages of blocks that are neither commands nor code. */
const SHOWN_ONLY = ['text', 'json'];

const withoutBlocks = (page: string): string =>
  textOf(page).replaceAll(/^( *)```[^]*?^\1```$/gm, '');

const linesOf = (text: string): number => text.trimEnd().split('\n').length;

/** As GitHub names the anchor of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

const anchorsOf = (page: string): string[] => [
  ...[...withoutBlocks(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading)),
  ...[...withoutBlocks(page).matchAll(/<a id="(\w+)">/g)].map(([, id = '']) => id),
];

/** Files and folders that a text names between backticks. */
const pathsIn = (text: string): string[] =>
  [...text.matchAll(/`((?:src|test|deploy|docs|scripts|migrations|\.ci)\/[\w./-]*)`/g)].map(
    ([, path = '']) => path,
  );

describe.each(PAGES)('%s', (page) => {
  const text = textOf(page);

  it('is short enough to be read', () => {
    if (!GROWING.includes(page)) expect(linesOf(text)).toBeLessThanOrEqual(MAX_LINES);
  });

  it('links to pages and headings that exist', () => {
    const links = [...withoutBlocks(page).matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link);
    const broken = links.filter((link) => {
      if (link.startsWith('https://')) return false;
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? page : join(dirname(page), path);
      if (!existsSync(join(PROJECT, target))) return true;
      return anchor !== undefined && !anchorsOf(target).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  it('names files, metrics and variables that exist', async () => {
    expect(pathsIn(text).filter((path) => !existsSync(join(PROJECT, path)))).toEqual([]);
    const metrics = telemetry.registry.getMetricsAsArray().map(({ name }) => name);
    const named = [...text.matchAll(/`(order_lookup_\w+_(?:total|seconds|up|keys))\b/g)];
    expect(named.map(([, name]) => name).filter((name) => !metrics.includes(name ?? ''))).toEqual(
      [],
    );
  });

  it('has blocks that a test runs, or says why not', () => {
    const faults = blocksOf(page).flatMap((block) => {
      const where = `line ${block.line}`;
      const runner = remark(block, 'run by');
      const reason = remark(block, 'not run:');
      if (!LANGUAGES.includes(block.language)) return [`${where}: ${block.language} is not known`];
      if (runner !== undefined && !existsSync(join(PROJECT, runner)))
        return [`${where}: ${runner} does not exist`];
      if (reason !== undefined && !/^\S+ \S+/.test(reason))
        return [`${where}: the reason is missing`];
      const excepted = runner !== undefined || reason !== undefined;
      return excepted || isWalked(block) || SHOWN_ONLY.includes(block.language)
        ? []
        : [`${where}: nobody runs this`];
    });
    expect(faults).toEqual([]);
    const walk = `test/documentation/${page
      .replace(/^docs\//, '')
      .replace(/\.md$/, '')
      .toLowerCase()}.e2e-spec.ts`;
    if (blocksOf(page).some(isWalked)) expect(existsSync(join(PROJECT, walk))).toBe(true);
  });

  it('has no marks for insiders', () => {
    expect(text).not.toMatch(/an outline|TODO|FIXME/);
  });
});

describe('README.md', () => {
  it('links to every other page', () => {
    const linked = withoutBlocks('README.md');
    const others = PAGES.filter((page) => page !== 'README.md');
    expect(others.filter((page) => !linked.includes(`](${page})`))).toEqual([]);
  });
});

describe('README.md and docs/', () => {
  const texts = PAGES.filter((page) => !GROWING.includes(page)).map(textOf);
  const sumOf = (count: (text: string) => number): number =>
    texts.reduce((sum, text) => sum + count(text), 0);

  it('are short enough to be read by one person', () => {
    expect(sumOf(linesOf)).toBeLessThanOrEqual(MAX_ALL_LINES);
    expect(sumOf((text) => text.trim().split(/\s+/).length)).toBeLessThanOrEqual(MAX_ALL_WORDS);
  });

  it('give shares in per cent', () => {
    const fractions = /\ba (third|quarter|fifth|tenth|fifteenth|twentieth|thirtieth)\b/;
    expect(texts.filter((text) => fractions.test(text))).toEqual([]);
  });
});

describe('docs/at-night.md', () => {
  const { groups } = parse(textOf('deploy/prometheus/alerts.yaml')) as {
    groups: { rules: { alert: string; annotations: { runbook_url: string } }[] }[];
  };
  const rules = groups.flatMap((group) => group.rules);
  const page = textOf('docs/at-night.md');

  it('has a line for each alert, to which the alert links', () => {
    const lines = [...page.matchAll(/^\| <a id="(\w+)"><\/a>`(\w+)` \|/gm)];
    expect(lines.filter(([, id, name]) => id !== name)).toEqual([]);
    expect(lines.map(([, id = '']) => id).toSorted()).toEqual(
      rules.map(({ alert }) => alert).toSorted(),
    );
    for (const { alert, annotations } of rules)
      expect(annotations.runbook_url).toBe(`docs/at-night.md#${alert}`);
  });

  it('quotes lines of the log as the service writes them', () => {
    const quoted = [...page.matchAll(/`([A-Za-z_]+(?: \(\w+\))?: [a-z ]+)`/g)].map(
      ([, said]) => said ?? '',
    );
    const sources = readdirSync(join(PROJECT, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(PROJECT, 'src', name), 'utf8'))
      .join('\n');
    const written = (said: string): boolean =>
      said.split(/ \(\w+\)(?=:)|: /).every((part) => sources.includes(part));
    expect(quoted.length).toBeGreaterThan(0);
    expect(quoted.filter((said) => !written(said))).toEqual([]);
  });
});
