import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { metricsOfService } from '../support/metrics.js';
import { PROJECT, textOf } from '../support/program.js';

const read = (name: string): string => textOf(`deploy/prometheus/${name}`);

const { groups } = parse(read('alerts.yaml')) as {
  groups: { rules: { alert: string; expr: string }[] }[];
};
const rules = groups.flatMap((group) => group.rules);
const { panels } = JSON.parse(textOf('deploy/grafana/order-lookup-services.json')) as {
  panels: { title: string; targets?: { expr: string }[] }[];
};
const uses = [
  ...rules.map(({ alert, expr }) => [alert, expr]),
  ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr])),
] as [string, string][];

/** The series of the service with their labels: a histogram makes three. */
const series = new Map<string, string[]>();
beforeAll(async () => {
  for (const { name, labelNames } of await metricsOfService()) {
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
  const [quiet, ...others] = read('alerts.test.yaml').split('  - name: ').slice(1);
  expect(quiet).not.toContain('alertname="');
  const fired = [...others.join('').matchAll(/alertname="(\w+)"/g)].map(([, name]) => name);
  expect(new Set(fired)).toEqual(new Set(rules.map(({ alert }) => alert)));
});

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
(hasPromtool || process.env['CI'] ? it : it.skip).each([
  { command: 'check', file: 'alerts.yaml' },
  { command: 'test', file: 'alerts.test.yaml' },
])('the alerts pass `promtool $command rules`, of the package prometheus', ({ command, file }) => {
  const options = { cwd: join(PROJECT, 'deploy/prometheus'), encoding: 'utf8' } as const;
  const outcome = spawnSync('promtool', [command, 'rules', file], options);
  expect(outcome).toMatchObject({ status: 0 });
});
