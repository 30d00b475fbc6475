// `npm run faults -- NAME`: long runs that break the surroundings of the service and print what came of it. Their short forms are in the tests.
import { administration } from './administration.js';
import { bursts } from './bursts.js';
import { capacity } from './capacity.js';
import { coldStart } from './cold-start.js';
import { coldStartLarge } from './cold-start-large.js';
import { codings } from './codings.js';
import { flip } from './flip.js';
import { forgery } from './forgery.js';
import { gateway } from './gateway.js';
import { idle } from './idle.js';
import { issuers } from './issuers.js';
import { kills } from './kills.js';
import { memory } from './memory.js';
import { moment } from './moment.js';
import { monitoring } from './monitoring.js';
import { nodeLost } from './node-lost.js';
import { outage } from './outage.js';
import { password } from './password.js';
import { propagation } from './propagation.js';
import { reading } from './reading.js';
import { rollingRestart } from './rolling-restart.js';
import { rotation } from './rotation.js';
import { sessions } from './sessions.js';
import { stack } from './stack.js';
import { strangers } from './strangers.js';
import { traces } from './traces.js';
import { transactions } from './transactions.js';

const runs: Record<string, (amount?: number, only?: string) => Promise<string>> = {
  propagation,
  flip,
  outage,
  sessions,
  'rolling-restart': rollingRestart,
  gateway,
  stack,
  'node-lost': nodeLost,
  forgery,
  strangers,
  memory,
  capacity,
  codings,
  bursts,
  moment,
  administration,
  idle,
  issuers,
  monitoring,
  password,
  rotation,
  traces,
  reading,
  'cold-start': coldStart,
  'cold-start-large': coldStartLarge,
  kills,
  transactions,
};
const [name = '', amount, only] = process.argv.slice(2);
const run = runs[name];
if (!run || (amount !== undefined && !(Number(amount) > 0))) {
  console.error();
  process.exit(1);
}
console.log(await run(amount === undefined ? undefined : Number(amount), only));
process.exit(0);
