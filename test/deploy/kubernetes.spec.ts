import { dirname } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { readConfiguration } from '../../src/configuration/read-configuration.js';
import { ALL_PATHS } from '../support/paths.js';
import { documents, files, read } from './manifests.js';

interface Pod {
  readonly metadata: { readonly labels: object };
  readonly spec: {
    readonly containers: {
      readonly env: { name: string; value?: string }[];
      readonly volumeMounts?: { name: string; mountPath: string }[];
      readonly ports?: { name: string; containerPort: number }[];
      readonly securityContext: object;
    }[];
    readonly volumes?: { name: string }[];
  };
}

const all = files.flatMap(documents);

/** Every value that stands under the name, however deep. */
const valuesOf = (name: string, value: unknown): unknown[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, inner]) => [
        ...(key === name ? [inner] : []),
        ...valuesOf(name, inner),
      ])
    : [];

const pods = valuesOf('template', all) as Pod[];
const [api] = pods.flatMap(({ spec }) => spec.containers).filter(({ ports }) => ports);

/** As the replicas read it: the names in configuration.env have to be variables of the service. */
const given = parseEnv(read('configuration.env')) as Record<string, string>;
const configuration = readConfiguration({ ...given, DATABASE_URL: 'postgres://db/order_lookup' });

describe('deploy/kubernetes', () => {
  it('lists every file in its kustomization', () => {
    const { resources } = parse(read('kustomization.yaml')) as { resources: string[] };
    expect(resources.toSorted()).toEqual(files.toSorted());
  });

  it('selects pods by the labels that they have', () => {
    const labels = pods.map(({ metadata }) => metadata.labels);
    const services = all.filter(({ kind }) => kind === 'Service');
    const selectors = [...valuesOf('matchLabels', all), ...valuesOf('selector', services)];
    for (const selector of selectors)
      if (!JSON.stringify(selector).includes('metadata.name'))
        expect(labels).toContainEqual(selector);
    expect(labels[0]).not.toEqual(labels[1]);
  });

  it('names ports that exist, with the numbers that the service listens on', () => {
    const { PORT, MANAGEMENT_PORT } = configuration;
    expect(api?.ports).toEqual([
      { name: 'http', containerPort: PORT },
      { name: 'management', containerPort: MANAGEMENT_PORT },
    ]);
    const named = [...valuesOf('port', all), ...valuesOf('targetPort', all)].filter(
      (port) => typeof port === 'string',
    );
    expect(new Set(named)).toEqual(new Set(['http', 'management']));
  });

  it('gives the service a complete configuration, and its database address by a Secret that is not here', () => {
    expect(configuration).toMatchObject({ ...given, OAUTH_ISSUER: [given['OAUTH_ISSUER']] });
    expect(all.map(({ kind }) => kind)).not.toContain('Secret');
    const mounted = api?.env.map(({ value = '' }) =>
      api.volumeMounts?.find(({ mountPath }) => mountPath === dirname(value)),
    );
    const volumes = pods.flatMap(({ spec }) => spec.volumes ?? []).map(({ name }) => name);
    expect(mounted?.map((mount) => mount?.name)).toEqual(volumes);
  });

  it('runs every container without privileges', () => {
    expect(valuesOf('automountServiceAccountToken', pods)).toEqual([false, false]);
    for (const { spec } of pods) {
      expect(spec).toMatchObject({ securityContext: { runAsNonRoot: true } });
      for (const { securityContext } of spec.containers)
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
    }
  });

  it('routes every path that callers know', () => {
    const route = parse(read('gateway/http-route.yaml')) as object;
    const prefixes = (valuesOf('path', route) as { value: string }[]).map(({ value }) => value);
    for (const path of [...ALL_PATHS, '/docs', '/openapi.json', '/problems/not-found'])
      expect(prefixes.some((prefix) => path.startsWith(prefix))).toBe(true);
  });
});
