// `npm run faults -- NAME [AMOUNT] [PART]` starts a long run, such as outages of PostgreSQL under traffic. It writes
// its results into RESULTS.md in this folder. The tests contain short forms of these runs.
import { saveResult } from '../bench/results.js';
import { World } from '../support/world.js';
import { callers } from './callers.js';
import { flip, moment } from './contents.js';
import { gateway } from './gateway.js';
import { issuers } from './issuers.js';
import { memory } from './memory.js';
import { outage } from './outage.js';
import { sizes } from './sizes.js';
import { strangers } from './strangers.js';

interface Run {
  /** The number of replicas at the beginning. */
  readonly replicas: number;
  /** The description of the run, which the usage shows. */
  readonly event: string;
  /** The meaning of AMOUNT and PART. */
  readonly usage: string;
  readonly run: (world: World, amount?: number, part?: string) => Promise<string>;
}

const runs: Record<string, Run> = {
  flip: { replicas: 3, event: 'every code changes again and again', usage: 'replies', run: flip },
  moment: { replicas: 0, event: 'codes begin and end, at replicas with wrong clocks', usage: 'moments', run: moment },
  outage: {
    replicas: 2,
    event: 'PostgreSQL stops, restarts or hangs under traffic',
    usage: 'seconds; only faults that contain PART',
    run: outage,
  },
  issuers: { replicas: 1, event: 'the issuer fails under traffic', usage: 'seconds of each fault', run: issuers },
  gateway: {
    replicas: 0,
    event: 'replicas restart behind nginx, HAProxy and Caddy',
    usage: 'restarts of each replica; only names that contain PART',
    run: gateway,
  },
  strangers: {
    replicas: 0,
    event: 'clients without credentials attack',
    usage: 'seconds; only names that contain PART',
    run: strangers,
  },
  callers: {
    replicas: 0,
    event: '100 clients with a key ask for the largest answers',
    usage: 'requests, each with another filter, whenever ten more clients have connected; only names that contain PART',
    run: callers,
  },
  memory: {
    replicas: 0,
    event: 'one token is used for many requests, and then a new token for each request',
    usage: 'requests, a multiple of 100,000; PART is the KiB of a token',
    run: memory,
  },
  sizes: { replicas: 0, event: 'the database has many codes', usage: 'codes', run: sizes },
};

const [name = '', amountText, part] = process.argv.slice(2);
const amount = amountText === undefined ? undefined : Number(amountText);
const chosen = runs[name];
const isAmount = amount === undefined || amount > 0;
if (!chosen || !isAmount) {
  const names = Object.entries(runs).map(([each, { event, usage }]) => `  ${each}: ${event} (${usage})`);
  console.error('Usage: npm run faults -- NAME [AMOUNT] [PART]. The names, with the meanings of AMOUNT and PART:');
  console.error(names.join('\n'));
  process.exit(1);
}
const world = await World.withoutJest(chosen.replicas);
try {
  const found = await chosen.run(world, amount, part);
  console.log(found);
  const command = `npm run faults -- ${process.argv.slice(2).join(' ')}`;
  saveResult('test/faults/RESULTS.md', command, found);
} finally {
  await world.close();
}
process.exit(0);
