import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { readConfiguration } from '../../src/configuration/read-configuration.js';
import { readBlocks } from '../support/pages.js';
import { PROJECT, shell, readText } from '../support/program.js';
import { useTestFolder } from '../support/test-folder.js';

const read = (file: string): string => readText(`deploy/kubernetes/${file}`);
const isManifest = (file: string): boolean => file.endsWith('.yaml') && file !== 'kustomization.yaml';
const files = readdirSync(join(PROJECT, 'deploy/kubernetes')).filter(isManifest);
/** The objects of all manifests. Their types are not checked here. */
const objects = files.flatMap((file) =>
  read(file)
    .split(/^---$/m)
    .map((text) => parse(text) as { kind: string }),
);

/** Returns every value with this name, at any depth. */
function valuesOf<T>(name: string, value: unknown): T[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    ...(key === name ? [inner as T] : []),
    ...valuesOf<T>(name, inner),
  ]);
}

/** The longest time that a replica needs after DRAIN_SECONDS until it has ended (docs/operators.md). */
const LONGEST_END_SECONDS = 11;
const pods = valuesOf<{ metadata: { labels: object } }>('template', objects);
const [deployment] = objects.filter(({ kind }) => kind === 'Deployment');
const [variables = []] = valuesOf<{ name: string; value: string }[]>('env', deployment);
const configurationEnv = parseEnv(read('configuration.env')) as Record<string, string>;
const configuration = readConfiguration({ ...configurationEnv, DATABASE_URL: 'postgres://db/order_lookup' });

it('deploy/kubernetes lists every file in its kustomization', () => {
  const { resources } = parse(read('kustomization.yaml')) as { resources: string[] };
  expect(resources.toSorted()).toEqual(files.toSorted());
});

/** A network policy selects namespaces by the label kubernetes.io/metadata.name, and pods by other labels. */
const selectsNamespace = (selector: unknown): boolean => JSON.stringify(selector).includes('metadata.name');

it('deploy/kubernetes selects pods by the labels that they have', () => {
  const labels = pods.map(({ metadata }) => metadata.labels);
  const services = objects.filter(({ kind }) => kind === 'Service');
  const selectors = [...valuesOf('selector', services), ...valuesOf('matchLabels', objects)];
  const podSelectors = selectors.filter((selector) => !selectsNamespace(selector));
  const matches = podSelectors.map((selector) => expect.objectContaining(selector as object) as unknown);
  expect(labels).toEqual(expect.arrayContaining(matches));
  expect(podSelectors.length).toBeGreaterThan(1);
  expect(labels[0]).not.toEqual(labels[1]); // otherwise the Service would send calls to the pod of the migration
});

it('deploy/kubernetes names only ports that the service listens on, and policies use their numbers', () => {
  const { PORT, MANAGEMENT_PORT } = configuration;
  const [ports] = valuesOf('ports', deployment);
  expect(ports).toEqual([
    { name: 'http', containerPort: PORT },
    { name: 'management', containerPort: MANAGEMENT_PORT },
  ]);
  const used = [...valuesOf('port', objects), ...valuesOf('targetPort', objects)];
  const named = used.filter((port) => typeof port === 'string');
  expect(new Set(named)).toEqual(new Set(['http', 'management']));
  const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy');
  expect(valuesOf('port', valuesOf('ingress', policies))).toEqual([PORT, MANAGEMENT_PORT]);
  expect(valuesOf('port', policies).filter((port) => typeof port !== 'number')).toEqual([]);
});

it('deploy/kubernetes gives the service a complete configuration, and contains no Secret', () => {
  const { OAUTH_ISSUER, OAUTH_AUDIENCE, ...others } = configurationEnv;
  const lists = { OAUTH_ISSUER: [OAUTH_ISSUER], OAUTH_AUDIENCE: [OAUTH_AUDIENCE] };
  expect(configuration).toMatchObject({ ...others, ...lists });
  expect(objects.map(({ kind }) => kind)).not.toContain('Secret');
});

it('deploy/kubernetes mounts a volume for each path that a variable names', () => {
  const [mounts = []] = valuesOf<{ name: string; mountPath: string }[]>('volumeMounts', objects);
  const [volumes = []] = valuesOf<{ name: string }[]>('volumes', deployment);
  const paths = variables.filter(({ value }) => value.startsWith('/'));
  expect(paths.map(({ value }) => dirname(value))).toEqual(mounts.map((one) => one.mountPath));
  expect(mounts.map(({ name }) => name)).toEqual(volumes.map(({ name }) => name));
});

it('deploy/kubernetes sends no calls to a replica that is not ready, and restarts only replicas that hang', () => {
  const pathsOf = (probe: string): unknown[] => valuesOf('path', valuesOf(probe, deployment));
  expect(pathsOf('readinessProbe')).toEqual(['/health/ready']);
  for (const probe of ['startupProbe', 'livenessProbe']) expect(pathsOf(probe)).toEqual(['/health/live']);
});

it('deploy/kubernetes gives a replica enough time to drain', () => {
  const drain = Number(variables.find(({ name }) => name === 'DRAIN_SECONDS')?.value);
  const [grace = 0] = valuesOf<number>('terminationGracePeriodSeconds', deployment);
  expect(grace).toBeGreaterThan(drain + LONGEST_END_SECONDS);
  // docs/kubernetes.md has a patch for a longer time, which names the variable by its index
  expect(variables[1]?.name).toBe('DRAIN_SECONDS');
  const [, longerDrain, longerGrace] =
    /env\/1\/value, value: '(\d+)' .*terminationGracePeriodSeconds, value: (\d+) /.exec(
      readText('docs/kubernetes.md'),
    ) ?? [];
  expect(Number(longerGrace)).toBeGreaterThan(Number(longerDrain) + LONGEST_END_SECONDS);
});

it('deploy/kubernetes leaves the user to OpenShift or to the image, and the image names its user by number', () => {
  const names = ['runAsUser', 'runAsGroup', 'fsGroup'];
  expect(names.flatMap((name) => valuesOf(name, objects))).toEqual([]);
  expect(readText('Dockerfile')).toMatch(/^USER \d+:\d+\n(.*\n)*CMD/m);
});

it('deploy/kubernetes runs every container without privileges', () => {
  const capabilities = { drop: ['ALL'] };
  const container = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities };
  const contexts = [expect.objectContaining({ runAsNonRoot: true }), container];
  expect(valuesOf('securityContext', pods)).toEqual([...contexts, ...contexts]);
  expect(valuesOf('automountServiceAccountToken', pods)).toEqual([false, false]);
});

it('deploy/kubernetes routes every path to the service', () => {
  const routes = valuesOf('path', parse(read('gateway/http-route.yaml')));
  expect(routes).toEqual([{ type: 'PathPrefix', value: '/' }]);
});

const steps = useTestFolder();

/** The beginnings of the kubectl commands of docs/kubernetes.md, in their order. */
const MIGRATION = ['delete', 'apply', 'wait --for=jsonpath'];
const COMPLETE_MIGRATION = [...MIGRATION, 'wait --for=condition=complete'];
const SHOW_REASON = ['logs', 'get events'];
// The restart comes before the last `apply`. Otherwise `undo` would undo only the restart, and keep the new version
const ROLL_OUT = [...COMPLETE_MIGRATION, 'get deployment', 'rollout restart', 'apply', 'rollout status'];
it.each([
  { failing: 'nothing', status: 0, expected: ROLL_OUT },
  { failing: 'rollout status', status: 1, expected: [...ROLL_OUT, 'get pods', 'logs', 'rollout undo'] },
  { failing: 'wait --for=jsonpath', status: 1, expected: [...MIGRATION, ...SHOW_REASON] },
  { failing: 'wait --for=condition', status: 1, expected: [...COMPLETE_MIGRATION, ...SHOW_REASON] },
])(
  'the commands of docs/kubernetes.md end with the status $status if $failing fails',
  async ({ failing, status, expected }) => {
    const list = join(steps, 'list');
    writeFileSync(list, '');
    const kubectl = `#!/bin/sh
echo "$*" >> list
case "$*" in "get deployment "*) echo deployment.apps/order-lookup ;; "${failing}"*) exit 1 ;; esac
`;
    writeFileSync(join(steps, 'kubectl'), kubectl, { mode: 0o755 });
    const blocks = readBlocks('docs/kubernetes.md');
    const rollOut = blocks.find(({ text }) => text.includes('rollout status'));
    expect(await shell(`PATH=$PWD:$PATH\n${rollOut?.text}`, steps, {})).toMatchObject({ status });
    const lines = readFileSync(list, 'utf8').trim().split('\n');
    expect(lines).toEqual(expected.map((step) => expect.stringMatching(`^${step}`) as unknown));
  },
);

it('the commands of docs/kubernetes.md say within two minutes why a migration fails', () => {
  const [job] = objects.filter(({ kind }) => kind === 'Job');
  const [deadline = 0] = valuesOf<number>('activeDeadlineSeconds', job);
  const { text = '' } = readBlocks('docs/kubernetes.md').find((block) => block.text.includes('rollout status')) ?? {};
  const limits = [...text.matchAll(/--timeout=(\d+)s/g)].map(([, seconds]) => Number(seconds));
  expect(limits[0]).toBeGreaterThan(deadline); // so the first `wait` also ends if Kubernetes stops the Job
  expect(limits.reduce((sum, one) => sum + one)).toBeLessThan(120);
});
