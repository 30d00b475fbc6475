import { spawnSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { readBlocks } from '../support/pages.js';
import { listMetrics } from '../support/metrics.js';
import { PROJECT, shell, readText } from '../support/program.js';
import { testFolder } from '../support/test-folder.js';

const { spec } = parse(readText('deploy/kubernetes/monitoring/prometheus-rule.yaml')) as {
  spec: { groups: { rules: { alert: string; expr: string }[] }[] };
};
const rules = spec.groups.flatMap((group) => group.rules);
const TESTS = 'alerts.test.yaml';
const { panels } = JSON.parse(readText('deploy/grafana/order-lookup-services.json')) as {
  panels: { title: string; targets?: { expr: string }[] }[];
};
const uses = [
  ...rules.map(({ alert, expr }) => [alert, expr]),
  ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr])),
] as [string, string][];

/** The series of the service with their labels: a histogram makes three. */
const series = new Map<string, string[]>();
beforeAll(async () => {
  for (const { name, labelNames } of await listMetrics()) {
    const suffixes = name.endsWith('_duration_seconds') ? ['_bucket', '_sum', '_count'] : [''];
    for (const suffix of suffixes) series.set(name + suffix, labelNames);
  }
});

it.each(uses)('the alert or panel %s uses only metrics and labels that the service has', (_, expr) => {
  const names: string[] = expr.match(/\b(order_lookup|nodejs|process)_\w+/g) ?? [];
  expect(names).not.toEqual([]);
  expect([...series.keys()]).toEqual(expect.arrayContaining(names));
  const lists = [...expr.matchAll(/\b(?:by|ignoring|on) \(([^)]*)\)/g)].map(([, list]) => list);
  const named = [...expr.matchAll(/(\w+)=~?"/g)].map(([, label]) => label);
  const used = [...lists.flatMap((list) => list?.split(', ')), ...named];
  const labels = names.flatMap((name) => series.get(name) ?? []);
  labels.push('job', 'instance', 'le', 'environment');
  expect(labels).toEqual(expect.arrayContaining(used));
});

it('the alerts fire each in one test of promtool, and none where nothing is wrong', () => {
  const [quiet, ...others] = readText(`test/deploy/${TESTS}`).split('  - name: ').slice(1);
  expect(quiet).not.toContain('alertname="');
  const fired = [...others.join('').matchAll(/alertname="(\w+)"/g)].map(([, name]) => name);
  expect(new Set(fired)).toEqual(new Set(rules.map(({ alert }) => alert)));
});

const folder = testFolder();
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
if (!hasPromtool) process.stderr.write('SKIPPED, but not in CI: the tests of the alerts need promtool.\n');
(hasPromtool || process.env['CI'] ? it : it.skip).each([
  { command: 'check', file: 'alerts.yaml' },
  { command: 'test', file: TESTS },
])('the file of rules that the page makes passes `promtool $command rules`, of the package prometheus', async (run) => {
  const block = readBlocks('docs/operators.md').find(({ text }) => text.includes('prometheus-rule.yaml'));
  const made = await shell(block?.text.replace('> ', `> ${folder}/`) ?? '', PROJECT, {});
  expect(made).toEqual({ status: 0, stdout: '', stderr: '' });
  copyFileSync(join(PROJECT, 'test/deploy', TESTS), join(folder, TESTS));
  const outcome = spawnSync('promtool', [run.command, 'rules', run.file], { cwd: folder, encoding: 'utf8' });
  expect(outcome).toMatchObject({ status: 0 });
});
