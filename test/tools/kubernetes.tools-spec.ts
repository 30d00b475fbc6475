import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { type Manifest, documents, files, read } from '../deploy/manifests.js';

type Models = Record<string, new (data: object) => { validate(): void }>;

/**
 * What the schemas of Kubernetes and the Prometheus operator say against a manifest. They let unknown properties pass, and so would a
 * misspelt one: but what they never look at is unknown to them.
 */
async function faultsOf(manifest: Manifest): Promise<string[]> {
  const { apiVersion, kind } = manifest;
  const isOfPrometheus = apiVersion.startsWith('monitoring.coreos.com/');
  const home = isOfPrometheus ? '@kubernetes-models/prometheus-operator' : 'kubernetes-models';
  const Model = ((await import(`${home}/${apiVersion}/${kind}`)) as Models)[kind];
  if (!Model) return [`${apiVersion} ${kind} is not known`];
  const unread = new Set<string>();
  const watched = <T extends object>(value: T, path: string): T => {
    for (const key of Object.keys(value)) unread.add(`${path}/${key}`);
    return new Proxy(value, {
      get(target, key) {
        const at = `${path}/${String(key)}`;
        unread.delete(at);
        const inner: unknown = Reflect.get(target, key);
        return typeof inner === 'object' && inner !== null ? watched(inner, at) : inner;
      },
    });
  };
  try {
    Model.prototype.validate.call(watched(new Model(manifest), ''));
  } catch (error) {
    return [(error as Error).message];
  }
  return [...unread].map((path) => `${path} is not known`);
}

describe('deploy/kubernetes', () => {
  it.each(files)('%s fits the schemas, and holds nothing that they do not know', async (file) => {
    for (const manifest of documents(file)) expect(await faultsOf(manifest)).toEqual([]);
  });

  it.each([
    ['minReadySeconds: 5', 'minReadySeconds: five', /minReadySeconds must be integer$/],
    ['livenessProbe:', 'livenesProbe:', /containers\/0\/livenesProbe is not known$/],
  ])('%s may not be %s', async (right, wrong, fault) => {
    const spoiled = parse(read('deployment.yaml').replace(right, wrong)) as Manifest;
    expect(await faultsOf(spoiled)).toContainEqual(expect.stringMatching(fault));
  });
});
