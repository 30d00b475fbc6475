import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { Metrics } from '../../src/telemetry/metrics.js';
import { PROJECT } from '../support/program.js';

const metrics = new Metrics();
metrics.onModuleInit();

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}
interface Panel {
  readonly type: string;
  readonly title: string;
  readonly targets?: { readonly expr: string }[];
}

const file = (...path: string[]): string => readFileSync(join(PROJECT, 'deploy', ...path), 'utf8');
const { groups } = parse(file('prometheus', 'alerts.yaml')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(file('grafana', 'order-lookup-services.json')) as { panels: Panel[] };
const panels = dashboard.panels.filter(({ type }) => type !== 'row');
const uses: [where: string, expr: string][] = [
  ...rules.map(({ alert, expr }): [string, string] => [alert, expr]),
  ...panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }): [string, string] => [title, expr]),
  ),
];

/** The series of the service with their labels: a histogram makes three. */
const series = new Map<string, string[]>();
beforeAll(() => {
  for (const metric of metrics.registry.getMetricsAsArray()) {
    const { name, labelNames } = metric as unknown as { name: string; labelNames: string[] };
    const suffixes = name.endsWith('_duration_seconds') ? ['_bucket', '_sum', '_count'] : [''];
    for (const suffix of suffixes) series.set(name + suffix, labelNames);
  }
});

const metricNames = (expr: string): string[] =>
  expr.match(/\b(order_lookup|nodejs|process)_\w+/g) ?? [];
const labelNames = (expr: string): string[] => [
  ...[...expr.matchAll(/\b(?:by|ignoring|on) \(([^)]*)\)/g)].flatMap(([, names = '']) =>
    names.split(', '),
  ),
  ...[...expr.matchAll(/(\w+)=~?"/g)].flatMap(([, name = '']) => name),
];

describe('the alert rules and the dashboard', () => {
  it.each(uses)('%s uses only metrics that the service has', (_, expr) => {
    const names = metricNames(expr);
    expect(names).not.toEqual([]);
    expect([...series.keys()]).toEqual(expect.arrayContaining(names));
    const labels = ['instance', 'le', ...names.flatMap((name) => series.get(name) ?? [])];
    expect(labels).toEqual(expect.arrayContaining(labelNames(expr)));
  });

  it('show every metric of the service', () => {
    const shown = new Set(
      uses.flatMap(([, expr]) => metricNames(expr)).map((name) => name.replace(/_bucket$/, '')),
    );
    const told = metrics.registry.getMetricsAsArray().map(({ name }) => name);
    expect(told.filter((name) => name.startsWith('order_lookup_') && !shown.has(name))).toEqual([]);
  });

  it('say of every condition how grave it is, and what to do', () => {
    for (const { alert, labels, annotations } of rules) {
      expect(alert).toMatch(/^OrderLookup[A-Z]/);
      expect(['critical', 'warning']).toContain(labels.severity);
      expect(annotations).toEqual({
        runbook_url: `docs/at-night.md#${alert}`,
        summary: expect.any(String),
        description: expect.stringMatching(/\w{2,}.*\./),
      });
    }
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  });

  const tests = (
    parse(file('prometheus', 'alerts.test.yaml')) as {
      tests: { name: string; promql_expr_test: { exp_samples: { labels: string }[] }[] }[];
    }
  ).tests.map(({ name, promql_expr_test: [query] }) => ({
    name,
    fire: (query?.exp_samples ?? []).flatMap(({ labels }) => /alertname="(\w+)"/.exec(labels)?.[1]),
  }));

  it('fire each in one test of promtool, and none where nothing is wrong', () => {
    expect(tests.find(({ name }) => name === 'nothing is wrong')?.fire).toEqual([]);
    expect(new Set(tests.flatMap(({ fire }) => fire))).toEqual(
      new Set(rules.map(({ alert }) => alert)),
    );
  });

  const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
  (hasPromtool ? it : it.skip)('pass the tests of promtool', () => {
    const { status, stdout, stderr } = spawnSync(
      'promtool',
      ['test', 'rules', 'alerts.test.yaml'],
      {
        cwd: join(PROJECT, 'deploy', 'prometheus'),
        encoding: 'utf8',
      },
    );
    expect({ status, output: stdout + stderr }).toEqual({
      status: 0,
      output: expect.stringContaining('SUCCESS'),
    });
  });
});
