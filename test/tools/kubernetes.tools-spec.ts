// Compares each kustomization, as kubectl renders it, with the schemas and the types of Kubernetes, the Gateway API and
// the Prometheus operator. The types refuse unknown fields, which the schemas accept.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { readBlocks } from '../support/pages.js';
import { PROJECT } from '../support/program.js';

type Manifest = Record<'apiVersion' | 'kind', string> & { readonly metadata: { labels?: object } };
interface Policy {
  readonly spec: Readonly<Record<'ingress' | 'egress', readonly { readonly ports: readonly { port: number }[] }[]>>;
}
type Models = Record<string, new (data: object) => { validate(): void }>;

const hasKubectl = spawnSync('kubectl', ['kustomize', '--help']).status === 0;
if (!hasKubectl) process.stderr.write('SKIPPED: the test of deploy/kubernetes needs kubectl 1.27 or later.\n');

const overlay = join(PROJECT, 'deploy', `overlay-${process.pid}`);
const typesFile = join(import.meta.dirname, `rendered-${process.pid}.ts`);
afterAll(() => {
  rmSync(overlay, { recursive: true, force: true });
  rmSync(typesFile, { force: true });
});

const LABELS = ['name', 'instance', 'component', 'part-of', 'managed-by'];
const read = (path: string): string => readFileSync(join(PROJECT, path), 'utf8');

function render(kustomization: string): Manifest[] {
  mkdirSync(overlay, { recursive: true });
  writeFileSync(join(overlay, 'kustomization.yaml'), kustomization);
  const { stdout, stderr } = spawnSync('kubectl', ['kustomize', overlay], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return parseAllDocuments(stdout).map((document) => document.toJS() as Manifest);
}

function moduleOf({ apiVersion, kind }: Manifest): string {
  const packages: Record<string, string> = {
    'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
    'gateway.networking.k8s.io': '@kubernetes-models/gateway-api',
  };
  const typePackage = packages[apiVersion.split('/')[0] ?? ''] ?? 'kubernetes-models';
  return `${typePackage}/${apiVersion}/${kind}`;
}

/** Writes each manifest as a literal of its type, compiles the literals, and returns the errors. */
function typeErrors(manifests: readonly Manifest[]): string {
  const statements = manifests.flatMap((manifest, index) => [
    `import type { I${manifest.kind} as T${index} } from '${moduleOf(manifest)}';\n`,
    `export const v${index}: T${index} = ${JSON.stringify(manifest)};\n`,
  ]);
  writeFileSync(typesFile, statements.join(''));
  const options = '--noEmit --skipLibCheck --ignoreConfig --strict --target es2022'.split(' ');
  const module = ['--module', 'preserve', '--moduleResolution', 'bundler'];
  return spawnSync('npx', ['tsc', ...options, ...module, typesFile], { encoding: 'utf8' }).stdout;
}

const base = 'resources: [../kubernetes]';
const overlayOfPage = readBlocks('docs/kubernetes.md').find(({ language }) => language === 'yaml')?.text ?? '';
const componentOf = (name: string): string => `${base}\ncomponents: [../kubernetes/${name}]`;
/** Finds YAML in comments: `- {`, `- target:` or `patch:`. Comments for people begin with none of these. */
const COMMENTED_YAML = /^( *)# (?= *(?:- [{t]|patch:))/gm;
const kustomizations = {
  'the base': base,
  'the gateway': 'resources: [../kubernetes/gateway]',
  'the overlay of docs/kubernetes.md': overlayOfPage,
  'the overlay of docs/kubernetes.md without comment signs': overlayOfPage.replaceAll(COMMENTED_YAML, '$1'),
  monitoring: componentOf('monitoring'),
  'argo-cd': componentOf('argo-cd'),
};

(hasKubectl ? describe : describe.skip)('deploy/kubernetes, as kubectl renders it:', () => {
  it.each(Object.entries(kustomizations))('%s fits the schemas, and has all labels', async (_, kustomization) => {
    for (const manifest of render(kustomization)) {
      const Model = ((await import(moduleOf(manifest))) as Models)[manifest.kind];
      expect(Model).toBeDefined();
      expect(() => Model && new Model(manifest).validate()).not.toThrow();
      for (const label of LABELS) expect(manifest.metadata.labels).toHaveProperty([`app.kubernetes.io/${label}`]);
    }
  });

  it('the types know every field, and would find a misspelled one', () => {
    const pod = JSON.parse(read('deploy/kubernetes/owner-pod.json')) as object;
    // As kubectl does, reads YAML 1.1, in which 0755 is octal
    const world = parseAllDocuments(read('scripts/kubernetes/world.yaml'), { version: '1.1' });
    const all = [
      ...Object.values(kustomizations).flatMap(render),
      ...world.map((document) => document.toJS() as Manifest),
      { apiVersion: 'v1', kind: 'Pod', ...pod } as unknown as Manifest,
    ];
    expect(typeErrors(all)).toBe('');
    const misspelled = JSON.stringify(all).replaceAll('"timeoutSeconds"', '"timeoutSecond"');
    expect(typeErrors(JSON.parse(misspelled) as Manifest[])).toContain("in type 'IProbe'");
  });

  it('the patches of docs/kubernetes.md allow meshes and cloud balancers, and limit the CPU of each container', () => {
    const all = render(kustomizations['the overlay of docs/kubernetes.md without comment signs']);
    const [policy, policyOfMigration] = all.filter(({ kind }) => kind === 'NetworkPolicy') as unknown as Policy[];
    const portsOf = (rules: Policy['spec']['egress'] = []): number[] =>
      rules.flatMap(({ ports }) => ports.map(({ port }) => port));
    const istio = [15008, 15012];
    const linkerd = [4143, 8080, 8086, 8090];
    const mesh = [...istio, ...linkerd];
    const proxy = 3128;
    expect(portsOf(policy?.spec.egress)).toEqual(expect.arrayContaining([proxy, ...mesh]));
    expect(portsOf(policyOfMigration?.spec.egress)).toEqual(expect.arrayContaining(mesh));
    const ingress = { base: [3000, 3001], cloudBalancer: [3001], istio: [15008, 3001], linkerd: [4143] };
    expect(portsOf(policy?.spec.ingress)).toEqual(Object.values(ingress).flat());
    const workloads = JSON.stringify(all.filter(({ kind }) => kind === 'Deployment' || kind === 'Job'));
    expect(workloads.match(/"limits":\{"cpu":"[12]","memory":/g)).toHaveLength(2);
  });

  it('the base needs no custom resource', () => {
    const groups = render(base).map(({ apiVersion }) => apiVersion.split('/')[0] ?? '');
    const known = ['v1', 'apps', 'batch', 'autoscaling', 'policy', 'networking.k8s.io'];
    expect(known).toEqual(expect.arrayContaining(groups));
  });

  it('argo-cd applies the migration and its network policy before everything else', () => {
    const hooks = render(kustomizations['argo-cd']).filter((one) =>
      JSON.stringify(one).includes('"argocd.argoproj.io/hook":"PreSync"'),
    );
    expect(hooks.map(({ kind }) => kind).toSorted()).toEqual(['Job', 'NetworkPolicy']);
  });
});
