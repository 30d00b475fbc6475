import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { type Manifest, documents, files, read } from '../deploy/manifests.js';

/** What the schemas of Kubernetes and the Prometheus operator say against a manifest, and which of its properties none of them knows. */
async function faultsOf(manifest: Manifest): Promise<string[]> {
  const { apiVersion, kind } = manifest;
  const home = apiVersion.startsWith('monitoring.coreos.com/')
    ? '@kubernetes-models/prometheus-operator'
    : 'kubernetes-models';
  const models = (await import(`${home}/${apiVersion}/${kind}`)) as Record<
    string,
    new (data: object) => { validate(): void }
  >;
  const Model = models[kind];
  if (!Model) return [`${apiVersion} ${kind} is not known`];
  const model = new Model(manifest);
  const unread = new Set<string>();
  collectPaths(model, '', unread);
  try {
    Model.prototype.validate.call(watched(model, '', unread));
  } catch (error) {
    return [(error as Error).message];
  }
  return [...unread].map((path) => `${path} is not known`);
}

function collectPaths(value: object, path: string, paths: Set<string>): void {
  for (const [key, inner] of Object.entries(value)) {
    paths.add(`${path}/${key}`);
    if (typeof inner === 'object' && inner !== null)
      collectPaths(inner as object, `${path}/${key}`, paths);
  }
}

/** The schemas let unknown properties pass, and so would a misspelt one: but what they never look at is unknown to them. */
function watched<T extends object>(value: T, path: string, unread: Set<string>): T {
  return new Proxy(value, {
    get(target, key) {
      const at = `${path}/${String(key)}`;
      unread.delete(at);
      const inner: unknown = Reflect.get(target, key);
      return typeof inner === 'object' && inner !== null ? watched(inner, at, unread) : inner;
    },
  });
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
