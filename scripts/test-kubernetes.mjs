// `npm run test:kubernetes` runs the commands of docs/kubernetes.md on a cluster, in a new namespace that denies all
// traffic. At its end it removes everything that it made, also after a failure or Ctrl-C.
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const PROJECT = join(import.meta.dirname, '..');
const read = (path) => readFileSync(join(PROJECT, path), 'utf8');
const { version } = JSON.parse(read('package.json'));
const { values: given } = parseArgs({
  options: {
    context: { type: 'string' }, // the default is kubectl's current context
    image: { type: 'string', default: `order-lookup-services:${version}` },
    postgres: { type: 'string', default: 'postgres:17-bookworm' },
  },
});
const random = () => randomBytes(9).toString('hex');
const NAMESPACE = `order-lookup-test-${random().slice(0, 6)}`;
const FOLDER = join(PROJECT, '.data', NAMESPACE);
const [OWNER_PASSWORD, SERVICE_PASSWORD] = [random(), random()];
const env = {
  ...process.env,
  KUBECONFIG: join(FOLDER, 'kubeconfig'),
  DATABASE_URL: `postgres://order_lookup_service:${SERVICE_PASSWORD}@db:5432/order_lookup`,
  OWNER_DATABASE_URL: `postgres://order_lookup_owner:${OWNER_PASSWORD}@db:5432/order_lookup`,
};
const TRAFFIC_PROGRAM = 'node /programs/traffic.mjs http://issuer:8443';
const API_PODS = '-l app.kubernetes.io/component=api';
const REPLICAS = 2; // minReplicas of the autoscaler in the manifests

console.log(
  'Needs kubectl 1.27 or later, a cluster to try things on, and two images that its nodes have or can pull: ' +
    `${given.image} (or --image NAME) and ${given.postgres} (or --postgres NAME). ` +
    `Makes the namespace ${NAMESPACE}, and takes about ten minutes.`,
);
const kubectl = (...words) => spawnSync('kubectl', words, { encoding: 'utf8' });
const refuse = (sentence) => {
  console.error(sentence);
  process.exit(1);
};
const context = given.context ?? kubectl('config', 'current-context').stdout?.trim();
if (!context) refuse('kubectl has no context: install it, and start a cluster (kind, k3d) or name one in KUBECONFIG.');
if (!given.context && /prd|prod|live/i.test(context))
  refuse(`The context ${context} looks like production. If it is right, say: --context ${context}`);
if (kubectl('--context', context, '--request-timeout=10s', 'get', '--raw', '/version').status !== 0)
  refuse(`No cluster answers at the context ${context}. See: kubectl --context ${context} version`);

const interruption = new AbortController();
const { signal } = interruption;
for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => interruption.abort());
const pause = (seconds) => setTimeout(seconds * 1000, undefined, { signal });

/** Returns an object to which everything that the process prints is added. */
function collectOutput(child) {
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'])
    child[name].on('data', (text) => {
      output[name] += text;
    });
  return output;
}

/** Runs a command of the shell, and returns what it printed. The terminal sends Ctrl-C to the command, too. */
async function sh(command, input = '') {
  const child = spawn('bash', ['-euo', 'pipefail', '-c', command], { env, cwd: PROJECT });
  const output = collectOutput(child);
  child.stdin.on('error', () => undefined).end(input);
  const [status] = await once(child, 'close');
  signal.throwIfAborted();
  const { stdout, stderr } = output;
  if (status !== 0) throw new Error(`${command}\nended with ${status}: ${stdout}${stderr}`);
  return stdout.trim();
}
const report = (line) => console.log(`${new Date().toISOString().slice(11, 19)} ${line}`);

const overlay = join(FOLDER, 'overlay');
function writeOverlay(level) {
  // NAME[:TAG][@DIGEST]
  const [, newName, newTag = 'latest', digest] = /^(.+?)(?::([\w.-]+))?(?:@(.+))?$/.exec(given.image);
  const literals = [
    'OAUTH_ISSUER=http://issuer:8443',
    'OAUTH_AUDIENCE=test',
    'OAUTH_ALLOW_HTTP=true',
    'PUBLIC_BASE_URL=http://order-lookup',
    `LOG_LEVEL=${level}`,
  ];
  const path = '/spec/template/spec/containers/0/resources/requests/cpu'; // for a small cluster
  const patch = JSON.stringify([{ op: 'replace', path, value: '50m' }]);
  const kustomization = {
    resources: [relative(overlay, join(PROJECT, 'deploy/kubernetes'))],
    images: [{ name: 'order-lookup-services', newName, ...(digest ? { digest } : { newTag }) }],
    labels: [{ pairs: { 'order-lookup-test': NAMESPACE }, includeTemplates: true }],
    configMapGenerator: [{ name: 'order-lookup', behavior: 'merge', literals }],
    patches: [{ target: { kind: 'Deployment' }, patch }],
  };
  mkdirSync(overlay, { recursive: true });
  writeFileSync(join(overlay, 'kustomization.yaml'), JSON.stringify(kustomization));
}
/** Finds each block of commands that stands directly below a comment with the name of this file. */
const MARKED_BLOCKS = /(?<=test: run by scripts\/test-kubernetes\.mjs -->\n```sh\n)[^]*?(?=```)/g;
const [makeSecrets, rollOutOnPage, issueKeyOnPage] = read('docs/kubernetes.md').match(MARKED_BLOCKS);
const rollOut = replaceIn(rollOutOnPage, /deploy\/production/g, relative(PROJECT, overlay));
const issueKey = replaceIn(issueKeyOnPage, /registry\S+services:[\w.-]+/g, given.image);
function replaceIn(block, pattern, text) {
  if (block?.match(pattern)) return block.replaceAll(pattern, text);
  throw new Error(`docs/kubernetes.md no longer has ${pattern}, which this test replaces, in: ${block}`);
}

/** Waits until the service has exactly this number of pods, and all are ready. Returns the pods. */
async function waitForPods(count) {
  for (let second = 0; second < 240; second++) {
    const { items } = JSON.parse(await sh(`kubectl get pods ${API_PODS} -o json`));
    const isReady = ({ metadata, status }) =>
      !metadata.deletionTimestamp && status.conditions?.some((one) => one.type === 'Ready' && one.status === 'True');
    if (items.length === count && items.every(isReady)) return items;
    await pause(1);
  }
  throw new Error(`not ${count} ready pods after 4 minutes: ${await sh('kubectl describe pods')}`);
}

/** Sets both limits of the autoscaler to this number. It obeys its limits immediately, even if it gets no metrics. */
async function scale(count) {
  const patch = JSON.stringify({ spec: { minReplicas: count, maxReplicas: count } });
  await sh(`kubectl patch hpa order-lookup -p '${patch}'`);
  return waitForPods(count);
}

/** Does the work under traffic. Set `mayRepeat` if the work kills a pod: then attempts may fail and be repeated. */
async function underTraffic(key, name, work, mayRepeat = false) {
  const words = ['exec', '-i', 'traffic', '--', ...TRAFFIC_PROGRAM.split(' '), key];
  const callers = spawn('kubectl', words, { env });
  const output = collectOutput(callers);
  const ended = once(callers, 'close');
  await Promise.race([once(callers.stdout, 'data'), ended]);
  try {
    await work();
    await pause(3);
  } finally {
    callers.stdin.on('error', () => undefined).end();
    await ended;
  }
  const { stdout, stderr } = output;
  if (!stdout.includes('{')) throw new Error(`${name}: the callers ended: ${stdout}${stderr}`);
  const [, reportLine] = stdout.split('\n'); // the first line is `begun`
  const { asked, failed, repeated, longestMs, faults } = JSON.parse(reportLine);
  report(`${name}: ${failed} of ${asked} failed, ${repeated} repeated, longest ${longestMs} ms`);
  if (failed > 0 || (repeated > 0 && !mayRepeat)) throw new Error(`${name}:\n${faults.join('\n')}`);
}

/** Commits a code, and waits until each pod serves it. */
async function change(key, code) {
  const sql = `insert into communication_code values ('TEST', '${code}', 'Test')`;
  await sh(`kubectl exec db -- psql -qU postgres -d order_lookup -c "${sql}"`);
  const pods = await waitForPods(REPLICAS);
  const addresses = pods.map(({ status: { podIP } }) => (podIP.includes(':') ? `[${podIP}]` : podIP));
  const milliseconds = await sh(`kubectl exec traffic -- ${TRAFFIC_PROGRAM} ${key} ${code} ${addresses.join(' ')}`);
  report(`a change is served by every pod, ${milliseconds} ms after the first request for it`);
}

let cordonedNode = '';

async function createNamespace() {
  mkdirSync(FOLDER, { recursive: true });
  const view = kubectl('config', 'view', '--raw', '--minify', '--flatten', `--context=${context}`);
  writeFileSync(env.KUBECONFIG, view.stdout, { mode: 0o600 });
  await sh(`kubectl create namespace ${NAMESPACE}`);
  await sh(`kubectl config set-context --current --namespace=${NAMESPACE}`);
}

/** Returns the host names of the nodes on which pods may run, or none if this user may not list nodes. */
async function usableNodes() {
  const list = await sh('kubectl get nodes -o json || echo "{\\"items\\":[]}"');
  const isUsable = ({ spec }) =>
    !spec.unschedulable && !spec.taints?.some(({ effect }) => effect !== 'PreferNoSchedule');
  const nodes = JSON.parse(list).items.filter(isUsable);
  return nodes.map(({ metadata }) => metadata.labels['kubernetes.io/hostname']);
}

/** Starts database, issuer and callers, all on one node, so that other nodes can be drained. */
async function startSurroundings(nodes) {
  const place = nodes.length > 1 ? { NODE_LABEL: 'hostname', NODE: nodes[0] } : { NODE_LABEL: 'os', NODE: 'linux' };
  const images = { IMAGE: given.image, POSTGRES_IMAGE: given.postgres };
  const values = { SUPERUSER_PASSWORD: random(), OWNER_PASSWORD, SERVICE_PASSWORD, ...place, ...images };
  await sh('kubectl create configmap roles --from-file=deploy/database');
  await sh('kubectl create configmap programs --from-file=scripts/kubernetes');
  await sh(
    'kubectl apply -f -',
    read('scripts/kubernetes/world.yaml').replaceAll(/\$\{(\w+)\}/g, (_, name) => values[name]),
  );
  await sh('kubectl wait --for=condition=Ready --timeout=4m pod/db pod/issuer pod/traffic');
  // Set this label after the pods exist: it refuses new pods that run as root, and PostgreSQL's image begins as root
  await sh(`kubectl label namespace ${NAMESPACE} pod-security.kubernetes.io/enforce=restricted`);
  report('database, issuer and callers run');
}

/** Runs the commands of docs/kubernetes.md, and returns the API key that they issue. */
async function followPage() {
  writeOverlay('info');
  await sh(makeSecrets);
  await sh(rollOut);
  report('rolled out, in a namespace that denies all traffic and restricts pods');
  const forbidden = 'http://issuer:9999';
  const tryIt = `fetch('${forbidden}',{signal:AbortSignal.timeout(3000)}).then(()=>console.log('open'),()=>0)`;
  if (await sh(`kubectl exec deploy/order-lookup -- node -e "${tryIt}"`))
    report('NOTE: this cluster does not enforce network policies');
  const [key] = (await sh(issueKey)).match(/ols_[\w-]+/) ?? [];
  if (!key) throw new Error('the command of the page printed no key');
  return key;
}

async function killPod() {
  await sh(`kubectl delete --force --grace-period=0 $(kubectl get pods ${API_PODS} -o name | head -n 1)`);
  await waitForPods(REPLICAS);
}

/** Ends PostgreSQL. Its container starts again, but waits until /away/now is removed (kubernetes/world.yaml). */
async function takeDatabaseAway() {
  // `sleep` lets `kubectl exec` end before its container does
  await sh("kubectl exec db -- sh -c 'touch /away/now; (sleep 1; kill -INT 1) >/dev/null 2>&1 &'");
  await pause(30);
  await sh('kubectl exec db -- rm -f /away/now');
  await sh('kubectl wait --for=condition=Ready --timeout=2m pod/db');
}

async function drainNode(key, nodes) {
  const nodeOfHelpers = await sh('kubectl get pod db -o jsonpath={.spec.nodeName}');
  const used = (await waitForPods(REPLICAS)).map(({ spec }) => spec.nodeName);
  const node = used.find((name) => name !== nodeOfHelpers);
  const mayDrain = await sh('kubectl auth can-i patch nodes || true');
  if (nodes.length < 2 || !node || mayDrain !== 'yes') {
    report('SKIPPED: a drained node needs two nodes and the right to drain one');
    return;
  }
  await underTraffic(key, 'a drained node', async () => {
    cordonedNode = node;
    const options = `--pod-selector=order-lookup-test=${NAMESPACE} --ignore-daemonsets --delete-emptydir-data`;
    await sh(`kubectl drain ${node} ${options} --timeout=4m`);
    await waitForPods(REPLICAS);
  });
}

async function main() {
  await createNamespace();
  const nodes = await usableNodes();
  await startSurroundings(nodes);
  const key = await followPage();
  await underTraffic(key, 'a key, and calls through the Service', () => pause(5));
  await change(key, 'ONE');
  writeOverlay('warn');
  await underTraffic(key, 'an update as on the page', async () => {
    await sh(rollOut);
    await waitForPods(REPLICAS);
  });
  await underTraffic(key, 'scaled to 4', () => scale(4));
  await underTraffic(key, 'scaled to 2', () => scale(REPLICAS));
  await underTraffic(key, 'a killed pod', killPod, true);
  await underTraffic(key, 'the database away for 30 s', takeDatabaseAway);
  await change(key, 'TWO');
  await drainNode(key, nodes);
}

/** Runs kubectl detached, so that a second Ctrl-C does not end it. */
const cleanUp = (...words) => spawnSync('kubectl', words, { env, detached: true, stdio: 'inherit' });
try {
  await main();
  report('All passed.');
} catch (error) {
  process.exitCode = 1;
  report(`FAILED: ${error.message}`);
} finally {
  if (cordonedNode) cleanUp('uncordon', cordonedNode);
  cleanUp('delete', 'namespace', NAMESPACE, '--ignore-not-found', '--timeout=3m');
  rmSync(FOLDER, { recursive: true, force: true });
}
