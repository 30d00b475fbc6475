import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { PROJECT } from '../support/program.js';

/** A Kubernetes object as it was written; what it may hold is the schema's matter. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Record<string, string> };
  readonly [property: string]: unknown;
}

const FOLDER = join(PROJECT, 'deploy', 'kubernetes');

export const files = readdirSync(FOLDER).filter(
  (name) => name.endsWith('.yaml') && name !== 'kustomization.yaml',
);

export const read = (file: string): string => readFileSync(join(FOLDER, file), 'utf8');
export const documents = (file: string): Manifest[] =>
  parseAllDocuments(read(file), { uniqueKeys: true, strict: true }).map((document) => {
    if (document.errors[0]) throw document.errors[0];
    return document.toJS() as Manifest;
  });

/** What the schemas of Kubernetes and the Prometheus operator say against a manifest, and which of its properties none of them knows. */
export async function faultsOf(manifest: Manifest): Promise<string[]> {
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
