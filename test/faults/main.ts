// `npm run faults -- NAME [AMOUNT] [PART]`: long runs that break the surroundings of the service, and print what came of it into RESULTS.md
// beside this file. Their short forms are in the tests.
import { saveResult } from '../bench/results.js';

type Run = (amount?: number, part?: string) => Promise<string>;
/** Of each run: what AMOUNT means, and its program. */
const runs: Record<string, readonly [amount: string, load: () => Promise<Run>]> = {
  flip: ['replies', async () => (await import('./flip.js')).flip],
  moment: ['moments', async () => (await import('./moment.js')).moment],
  outage: [
    'seconds; PART of the name of a fault',
    async () => (await import('./outage.js')).outage,
  ],
  sessions: ['seconds', async () => (await import('./sessions.js')).sessions],
  'rolling-restart': ['requests', async () => (await import('./restarts.js')).rollingRestart],
  gateway: ['requests', async () => (await import('./restarts.js')).gateway],
  strangers: [
    'seconds of each attack; PART of its name',
    async () => (await import('./strangers.js')).strangers,
  ],
  memory: ['requests', async () => (await import('./memory.js')).memory],
  sizes: ['codes', async () => (await import('./sizes.js')).sizes],
  administration: ['plans', async () => (await import('./administration.js')).administration],
  'cold-start': ['-', async () => (await import('./cold-start.js')).coldStart],
  transactions: ['steps', async () => (await import('./transactions.js')).transactions],
  kills: ['kills', async () => (await import('./kills.js')).kills],
};

const [name = '', amount, part] = process.argv.slice(2);
const run = runs[name];
if (!run || (amount !== undefined && !(Number(amount) > 0))) {
  const names = Object.entries(runs).map(([each, [meaning]]) => `  ${each} (${meaning})`);
  console.error(
    `npm run faults -- NAME [AMOUNT] [PART]. Names, and what AMOUNT is:\n${names.join('\n')}`,
  );
  process.exit(1);
}
const found = await (await run[1]())(amount === undefined ? undefined : Number(amount), part);
console.log(found);
saveResult('test/faults/RESULTS.md', `npm run faults -- ${process.argv.slice(2).join(' ')}`, found);
process.exit(0);
