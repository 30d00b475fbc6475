// What holds for all pages of the documentation, whatever they say. Their commands are run by the other files of this folder.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { Metrics } from '../../src/telemetry/metrics.js';
import { PAGES, blocksOf, remark, textOf } from '../support/documentation.js';
import { isWalked } from '../support/page-walk.js';
import { PROJECT, shell } from '../support/program.js';

const telemetry = new Metrics();
telemetry.onModuleInit();

const MAX_LINES: Record<string, number> = { 'README.md': 150, 'CHANGELOG.md': Infinity };
const LANGUAGES = ['console', 'sh', 'sql', 'csv', 'ts', 'json', 'text', 'nginx', 'yaml'];
/** Languages of blocks that are neither commands nor code. */
const SHOWN_ONLY = ['text', 'json'];

const withoutBlocks = (page: string): string =>
  textOf(page).replaceAll(/^( *)```[^]*?^\1```$/gm, '');

/** As GitHub names the anchor of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

const anchorsOf = (page: string): string[] =>
  [...withoutBlocks(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));

/** Files and folders that a text names between backticks. */
const pathsIn = (text: string): string[] =>
  [...text.matchAll(/`((?:src|test|deploy|docs|scripts|migrations|\.ci)\/[\w./-]*)`/g)].map(
    ([, path = '']) => path,
  );

describe.each(PAGES)('%s', (page) => {
  const text = textOf(page);

  it('is short enough to be read', () => {
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(MAX_LINES[page] ?? 200);
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

describe('figures', () => {
  it('name the commit and the command that made them', () => {
    const sections = ['docs/performance.md', 'docs/capacity.md'].flatMap((page) =>
      withoutBlocks(page).split(/^## /m).slice(1),
    );
    const unnamed = sections
      .filter((section) => /^\|.*\d/m.test(section))
      .filter(
        (section) => !/Commit\s+`[0-9a-f]{7,}`/.test(section) || !/`npm run [^`]+`/.test(section),
      )
      .map((section) => section.split('\n')[0]);
    expect(unnamed).toEqual([]);
  });
});

describe('the table of variables', () => {
  it('is what scripts/write-docs.mjs writes from .env.example', async () => {
    expect(await shell('node scripts/write-docs.mjs --check', PROJECT, {})).toEqual({
      status: 0,
      stdout: '',
      stderr: '',
    });
  });
});
