// `npm run faults -- NAME [AMOUNT] [PART]`: long runs that break the surroundings of the service, and print what came
// of it into RESULTS.md beside this file. Their short forms are in the tests.
import { saveResult } from '../bench/results.js';
import { World } from '../support/world.js';
import { flip, moment } from './contents.js';
import { gateway } from './gateway.js';
import { memory } from './memory.js';
import { outage } from './outage.js';
import { sizes } from './sizes.js';
import { strangers } from './strangers.js';

type Run = (world: World, amount?: number, part?: string) => Promise<string>;
/** Of each run: how many replicas it begins with, what AMOUNT means, and its program. */
const runs: Record<string, readonly [replicas: number, amount: string, run: Run]> = {
  flip: [3, 'replies', flip],
  moment: [0, 'moments', moment],
  outage: [2, 'seconds; PART of a fault', outage],
  gateway: [0, 'restarts of each replica; PART is one DRAIN_SECONDS', gateway],
  strangers: [0, 'seconds; PART of a name', strangers],
  memory: [0, 'requests; PART is KiB a token', memory],
  sizes: [0, 'codes', sizes],
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
const [replicas, , run] = entry;
const world = await World.apart(replicas);
try {
  const found = await run(world, amount === undefined ? undefined : Number(amount), part);
  console.log(found);
  const command = `npm run faults -- ${process.argv.slice(2).join(' ')}`;
  saveResult('test/faults/RESULTS.md', command, found);
} finally {
  await world.close();
}
process.exit(0);
