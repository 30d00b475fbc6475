import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { readBlocks } from '../support/pages.js';
import { listMetrics } from '../support/metrics.js';
import { PATHS } from '../support/paths.js';
import { PROJECT, shell, readText } from '../support/program.js';
import { useTestFolder } from '../support/test-folder.js';

const { spec } = parse(readText('deploy/kubernetes/monitoring/prometheus-rule.yaml')) as {
  spec: { groups: { rules: { alert: string; expr: string }[] }[] };
};
const rules = spec.groups.flatMap((group) => group.rules);
const { panels } = JSON.parse(readText('deploy/grafana/order-lookup-services.json')) as {
  panels: { title: string; targets?: { expr: string }[] }[];
};
/** Each alert and each panel with its expression in PromQL. */
const expressions = [
  ...rules.map(({ alert, expr }) => [alert, expr]),
  ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr])),
] as [string, string][];
const ENVIRONMENT_LABELS = ['job', 'namespace', 'environment', 'cluster'];

/** The series of the service with their labels. A histogram has three series. */
const series = new Map<string, string[]>();
beforeAll(async () => {
  for (const { name, labelNames } of await listMetrics()) {
    const suffixes = name.endsWith('_duration_seconds') ? ['_bucket', '_sum', '_count'] : [''];
    for (const suffix of suffixes) series.set(name + suffix, labelNames);
  }
});

it.each(expressions)('the alert or panel %s uses only metrics and labels that the service has', (_, expr) => {
  const names: string[] = expr.match(/\b(order_lookup|nodejs|process)_\w+/g) ?? [];
  expect(names).not.toEqual([]);
  expect([...series.keys()]).toEqual(expect.arrayContaining(names));
  const groupings = [...expr.matchAll(/\b(?:by|ignoring|on) \(([^)]*)\)/g)].map(([, list]) => list); // by (job, topic)
  const matchers = [...expr.matchAll(/(\w+)(?:=|=~|!=|!~)"/g)].map(([, label]) => label); // {status!~"401|403"}
  const used = [...groupings.flatMap((list) => list?.split(', ')), ...matchers];
  const labels = names.flatMap((name) => series.get(name) ?? []);
  expect([...labels, ...ENVIRONMENT_LABELS, 'instance', 'le']).toEqual(expect.arrayContaining(used));
});

// `without (…)` would keep the labels that Prometheus adds for each pod. Each sum would then be over one pod only
it.each(rules)('each sum and join of $alert lists its labels, and the labels of the environment come first', (rule) => {
  const groupings = [...rule.expr.matchAll(/\b(?:by|on|ignoring|without)\b ?(?:\(([^)]*)\))?/g)].map(
    ([, list]) => list,
  );
  expect(groupings.length).toBeGreaterThan(0);
  for (const list of groupings)
    expect(list?.split(', ').slice(0, ENVIRONMENT_LABELS.length)).toEqual(ENVIRONMENT_LABELS);
  expect(rule.expr).not.toMatch(/\b(?:sum|min|max|count|group|avg)\b(?! by \()/); // for example sum(x)
});

it('alerts and panels that select operations count no other paths, such as those that balancers check', () => {
  const patterns = expressions.flatMap(([, expr]) =>
    [...expr.matchAll(/operation=~"([^"]*)"/g)].map(([, pattern]) => pattern),
  );
  expect(new Set(patterns).size).toBe(1);
  const isCounted = (path: string) => new RegExp(`^(?:${patterns[0]})$`).test(path);
  expect(Object.values(PATHS).filter((path) => !isCounted(path))).toEqual([]);
  expect(['/', '/base', '/docs', 'none'].filter(isCounted)).toEqual([]);
});

interface Scenario {
  readonly name: string;
  readonly series: Record<string, string>;
  readonly fires: readonly string[];
}
/** The scenarios. With another schema than `failsafe`, the values `0x60` would be read as a hexadecimal number. */
const scenarios = parse(readText('test/deploy/alert-scenarios.yaml'), { schema: 'failsafe' }) as Scenario[];

it('each alert fires in some scenario, and none fires if nothing is wrong', () => {
  expect(scenarios[0]).toMatchObject({ name: 'nothing is wrong', fires: [] });
  const fired = scenarios.flatMap(({ fires }) => fires.map((labels) => /alertname="(\w+)"/.exec(labels)?.[1]));
  expect(new Set(fired)).toEqual(new Set(rules.map(({ alert }) => alert)));
});

const withoutChange = (scenario: Scenario): Scenario => scenario;

/** Adds labels that the common Prometheus chart copies from a pod. Their values differ for each pod or release. */
function withPodLabels(scenario: Scenario, release = 'new'): Scenario {
  const labelled = Object.entries(scenario.series).map(([name, values]) => {
    const instance = /instance="(\w+)"/.exec(name)?.[1] ?? '';
    const pod = `kubernetes_pod_name="${release}-${instance}",pod_template_hash="${release}",version="${release}"`;
    return [name.replace('}', `,${pod},release="orders",job="pods",namespace="orders",cluster="c"}`), values] as const;
  });
  return { ...scenario, series: Object.fromEntries(labelled) };
}

/** If you change this number, change it in the first comment of alert-scenarios.yaml, too. */
const DURATION_MINUTES = 40;
const ROLL_OUT_MINUTES = 6;
/** The values of a healthy replica that are not 0. */
const HEALTHY: Record<string, number> = {
  order_lookup_database_up: 1,
  order_lookup_ready: 1,
  order_lookup_jwks_keys: 2,
  order_lookup_next_key_expiry_seconds: 9_999_999,
  order_lookup_seconds_until_refusal: 86_400,
  up: 1,
};

/** Puts a roll-out before the scenario: for ROLL_OUT_MINUTES, only healthy replicas of the former release run. */
function afterRollOut(scenario: Scenario): Scenario {
  const former = Object.keys(scenario.series).map((name) => {
    const value = HEALTHY[name.replace(/\{.*/, '')] ?? 0;
    return [name.replace('instance="', 'instance="former_'), `${value}x${ROLL_OUT_MINUTES} stale`] as const;
  });
  const late = Object.entries(scenario.series).map(
    ([name, values]) => [name, `_x${ROLL_OUT_MINUTES} ${values}`] as const,
  );
  const before = withPodLabels({ ...scenario, series: Object.fromEntries(former) }, 'former');
  const now = withPodLabels({ ...scenario, series: Object.fromEntries(late) });
  return { ...scenario, series: { ...before.series, ...now.series } };
}

function toPromtool({ name: scenarioName, series: valuesBySeries, fires }: Scenario, minutes: number): object {
  return {
    name: scenarioName,
    interval: '1m',
    input_series: Object.entries(valuesBySeries).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [
      {
        expr: 'count by (alertname, environment, instance, topic, issuer, limit) (ALERTS{alertstate="firing"})',
        eval_time: `${minutes}m`,
        exp_samples: fires.map((labels) => ({ labels, value: 1 })),
      },
    ],
  };
}

const folder = useTestFolder();
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
const isSkipped = !hasPromtool && !process.env['CI'];
if (isSkipped) process.stderr.write('SKIPPED: the tests of the alerts need promtool.\n');
const itWithPromtool = isSkipped ? it.skip : it;

/** Makes alerts.yaml by the command of docs/operators.md. */
async function makeRules(): Promise<void> {
  const block = readBlocks('docs/operators.md').find(({ text }) => text.includes('prometheus-rule.yaml'));
  const made = await shell(block?.text.replace('> ', `> ${folder}/`) ?? '', PROJECT, {});
  expect(made).toEqual({ status: 0, stdout: '', stderr: '' });
}

function runPromtool(command: string, file: string) {
  return spawnSync('promtool', [command, 'rules', file], { cwd: folder, encoding: 'utf8' });
}

itWithPromtool('promtool accepts the file of rules that the command of docs/operators.md makes', async () => {
  await makeRules();
  expect(runPromtool('check', 'alerts.yaml')).toMatchObject({ status: 0 });
});

itWithPromtool.each([
  { variant: 'with its own series', change: withoutChange, minutes: DURATION_MINUTES },
  { variant: 'with labels for each pod and release', change: withPodLabels, minutes: DURATION_MINUTES },
  { variant: 'after a roll-out', change: afterRollOut, minutes: DURATION_MINUTES + ROLL_OUT_MINUTES },
])('$variant, each scenario fires exactly the alerts that it names', async ({ change, minutes }) => {
  await makeRules();
  const tests = scenarios.map((scenario) => toPromtool(change(scenario), minutes));
  const file = { rule_files: ['alerts.yaml'], evaluation_interval: '1m', tests };
  writeFileSync(join(folder, 'alerts.test.yaml'), stringify(file));
  const { status, stderr } = runPromtool('test', 'alerts.test.yaml');
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});
