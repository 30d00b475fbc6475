import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { readConfiguration } from '../../src/configuration/read-configuration.js';
import { ALL_PATHS } from '../support/paths.js';
import { PROJECT, shell } from '../support/program.js';
import { type Manifest, documents, files, read } from './manifests.js';

type Labels = Record<string, string>;
interface Container {
  readonly image: string;
  readonly env: { name: string; value?: string; valueFrom?: object }[];
  readonly volumeMounts?: { name: string; mountPath: string }[];
  readonly ports?: { name: string; containerPort: number }[];
  readonly securityContext: object;
}
interface Pod {
  readonly metadata: { readonly labels: Labels };
  readonly spec: { readonly containers: [Container]; readonly [property: string]: unknown };
}

/** What is looked at here, of whatever kind. */
interface Spec {
  readonly template: Pod;
  readonly selector: Labels & { readonly matchLabels: Labels };
  readonly podSelector: { readonly matchLabels: Labels };
  readonly ports: { name: string; targetPort: string }[];
  readonly endpoints: { port: string }[];
}

const all = files.flatMap(documents);
const of = (kind: string, name = 'order-lookup'): Manifest & { spec: Spec } =>
  all.find((manifest) => manifest.kind === kind && manifest.metadata.name === name) as Manifest & {
    spec: Spec;
  };

const deployment = of('Deployment');
const job = of('Job', 'order-lookup-migration');
const service = of('Service');
const [api] = deployment.spec.template.spec.containers;
const portNames = api.ports?.map(({ name }) => name) ?? [];
const kustomization = parse(read('kustomization.yaml')) as {
  resources: string[];
  images: { name: string; newTag: string }[];
};

/** Every value that stands under the name, however deep. */
const valuesOf = (name: string, value: unknown): unknown[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, inner]) => [
        ...(key === name ? [inner] : []),
        ...valuesOf(name, inner),
      ])
    : [];

describe('deploy/kubernetes', () => {
  it('lists every file in its kustomization', () => {
    expect([...kustomization.resources].sort()).toEqual([...files].sort());
  });

  it('selects the pods of the Deployment everywhere', () => {
    const { labels } = deployment.spec.template.metadata;
    expect(service.spec.selector).toEqual(labels);
    expect(of('NetworkPolicy').spec.podSelector.matchLabels).toEqual(labels);
    for (const selector of [
      ...valuesOf('labelSelector', deployment),
      of('PodDisruptionBudget').spec.selector,
    ])
      expect(selector).toEqual({ matchLabels: labels });
    expect(deployment.spec.selector.matchLabels).toEqual(labels);
    expect(of('HorizontalPodAutoscaler').spec).toMatchObject({
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'order-lookup' },
    });
  });

  it('selects the pod of the migration, and no replica, for the policy of the migration', () => {
    const policy = of('NetworkPolicy', 'order-lookup-migration');
    expect(policy.spec.podSelector.matchLabels).toEqual(job.spec.template.metadata.labels);
    expect(job.spec.template.metadata.labels).not.toEqual(deployment.spec.template.metadata.labels);
  });

  it('names ports that exist, with the numbers that the service listens on', () => {
    const { PORT, MANAGEMENT_PORT } = configuration();
    expect(api.ports).toEqual([
      { name: 'http', containerPort: PORT },
      { name: 'management', containerPort: MANAGEMENT_PORT },
    ]);
    expect(service.spec.ports.map(({ targetPort }) => targetPort)).toEqual(portNames);
    for (const { port } of valuesOf('httpGet', api) as { port: string }[])
      expect(port).toBe('management');
    const ingress = valuesOf('ingress', of('NetworkPolicy')).flatMap((rules) =>
      valuesOf('port', rules),
    );
    expect(ingress).toEqual(portNames);
    const monitor = of('ServiceMonitor');
    expect(service.metadata.labels).toEqual(monitor.spec.selector.matchLabels);
    expect(service.spec.ports.map(({ name }) => name)).toEqual(
      expect.arrayContaining(monitor.spec.endpoints.map(({ port }) => port)),
    );
  });

  it('gives the service a complete configuration, and its database address by a Secret that is not here', () => {
    expect(() => configuration()).not.toThrow();
    const [mount] = api.volumeMounts ?? [];
    expect(api.env).toContainEqual({
      name: 'DATABASE_URL_FILE',
      value: `${mount?.mountPath}/DATABASE_URL`,
    });
    expect(deployment.spec.template.spec['volumes']).toContainEqual({
      name: mount?.name,
      secret: { secretName: 'order-lookup' },
    });
    expect(job.spec.template.spec.containers[0].env).toEqual([
      {
        name: 'DATABASE_URL',
        valueFrom: { secretKeyRef: { name: 'order-lookup-owner', key: 'DATABASE_URL' } },
      },
    ]);
    expect(all.map(({ kind }) => kind)).not.toContain('Secret');
  });

  it('mounts a volume for LAST_GOOD_FILE, on a file system that is read-only else', () => {
    const [, mount] = api.volumeMounts ?? [];
    const value = `${mount?.mountPath}/last-good`;
    expect(api.env).toContainEqual({ name: 'LAST_GOOD_FILE', value });
    expect(deployment.spec.template.spec['volumes']).toContainEqual({
      name: mount?.name,
      emptyDir: {},
    });
  });

  it('runs every container without privileges', () => {
    for (const { spec } of [deployment.spec.template, job.spec.template]) {
      expect(spec).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      });
      for (const { securityContext } of spec.containers)
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
    }
  });

  it('runs the image of this version', () => {
    const { version } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8')) as {
      version: string;
    };
    expect(kustomization.images).toEqual([{ name: 'order-lookup-services', newTag: version }]);
    expect(valuesOf('image', all)).toEqual(['order-lookup-services', 'order-lookup-services']);
  });
});

describe('kubectl kustomize', () => {
  /** Version 1.20, which Debian 12 has, comes with a kustomize that does not know `envs`. */
  const canRead = shell('kubectl version --client -o json', PROJECT, {}).then(
    ({ status, stdout }) =>
      status === 0 &&
      parseInt((valuesOf('minor', JSON.parse(stdout)) as string[])[0] ?? '0', 10) > 20,
  );

  it.each(['deploy/kubernetes', 'deploy/kubernetes/gateway'])('reads %s', async (folder) => {
    if (!(await canRead)) {
      process.stderr.write('SKIPPED: no kubectl 1.21 or later here to read the manifests with.\n');
      return;
    }
    const { status, stdout, stderr } = await shell(`kubectl kustomize ${folder}`, PROJECT, {});
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const manifests = parseAllDocuments(stdout);
    expect(manifests.flatMap(({ errors }) => errors)).toEqual([]);
    expect(manifests.length).toBeGreaterThan(0);
  });

  it('the route leads to the port of the API, for every path that callers know', () => {
    const route = parse(read('gateway/http-route.yaml')) as Manifest;
    expect(valuesOf('backendRefs', route)).toEqual([[{ name: 'order-lookup', port: 80 }]]);
    const prefixes = (valuesOf('path', route) as { value: string }[]).map(({ value }) => value);
    for (const path of [...ALL_PATHS, '/docs', '/openapi.json', '/problems/not-found'])
      expect(prefixes.some((prefix) => path.startsWith(prefix))).toBe(true);
  });
});

/** As the replicas read it: the names in configuration.env have to be variables of the service. */
function configuration() {
  const given = parseEnv(read('configuration.env')) as Record<string, string>;
  const checked = readConfiguration({
    ...given,
    DATABASE_URL: 'postgres://order_lookup_service@db/order_lookup',
  });
  expect(checked).toMatchObject({ ...given, OAUTH_ISSUER: [given['OAUTH_ISSUER']] });
  return checked;
}
