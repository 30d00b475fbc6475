// `npm run faults -- NAME [AMOUNT] [PART]`: long runs that break the surroundings of the service, and print what came of it into RESULTS.md
// beside this file. Their short forms are in the tests.
import { saveResult } from '../bench/results.js';
import { World } from '../support/world.js';

type Run = (world: World, amount?: number, part?: string) => Promise<string>;
/** Of each run: how many replicas it begins with, what AMOUNT means, and its program. */
const runs: Record<string, readonly [number, amount: string, load: () => Promise<Run>]> = {
  flip: [3, 'replies', async () => (await import('./flip.js')).flip],
  moment: [0, 'moments', async () => (await import('./moment.js')).moment],
  outage: [2, 'seconds; PART of a fault', async () => (await import('./outage.js')).outage],
  sessions: [5, 'seconds', async () => (await import('./sessions.js')).sessions],
  'rolling-restart': [3, 'requests', async () => (await import('./restarts.js')).rollingRestart],
  gateway: [
    0,
    'restarts of each replica; PART of one DRAIN_SECONDS',
    async () => (await import('./restarts.js')).gateway,
  ],
  strangers: [0, 'seconds; PART of a name', async () => (await import('./strangers.js')).strangers],
  memory: [0, 'requests; PART of KiB a token', async () => (await import('./memory.js')).memory],
  sizes: [0, 'codes', async () => (await import('./sizes.js')).sizes],
  administration: [0, 'plans', async () => (await import('./administration.js')).administration],
  'cold-start': [0, '-', async () => (await import('./cold-start.js')).coldStart],
  transactions: [1, 'steps', async () => (await import('./transactions.js')).transactions],
};

const [name = '', amount, part] = process.argv.slice(2);
const entry = runs[name];
if (!entry || (amount !== undefined && !(Number(amount) > 0))) {
  const names = Object.entries(runs).map(([each, [, meaning]]) => `  ${each} (${meaning})`);
  console.error(
    `npm run faults -- NAME [AMOUNT] [PART]. Names, and what AMOUNT is:\n${names.join('\n')}`,
  );
  process.exit(1);
}
const [replicas, , load] = entry;
const run = await load();
const world = await World.apart(replicas);
const number = amount === undefined ? undefined : Number(amount);
try {
  const found = await run(world, number, part);
  console.log(found);
  const command = `npm run faults -- ${process.argv.slice(2).join(' ')}`;
  saveResult('test/faults/RESULTS.md', command, found);
} finally {
  await world.close();
}
process.exit(0);
