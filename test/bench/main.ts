// `npm run bench -- [--quick] [--beside FOLDER]` measures the CPU time of a request to the service and other servers.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { PROJECT } from '../support/program.js';
import { World } from '../support/world.js';
import { type Measurement, measure } from './measure.js';
import { drawPicture } from './picture.js';
import { type Result, formatTable, median } from './report.js';
import { saveResult } from './results.js';
import { HELLO, type Scenario, scenariosOf } from './scenarios.js';
import { Servers } from './servers.js';

const { quick, beside } = parseArgs({
  options: {
    // Only prints. Without this option, the results replace those in RESULTS.md and results.svg
    quick: { type: 'boolean', default: false },
    // Another checkout of the service, with its dist/ and node_modules/. The table calls it "before"
    beside: { type: 'string' },
  },
}).values;
/**
 * The warm-up of each scenario. V8 compiles the code of a service during about its first 40,000 requests. Later
 * requests cost a third less.
 */
const WARM_UP_SECONDS = quick ? 0.5 : 4;
const rounds = quick ? 5 : 10;
const secondsPerRound = quick ? 0.4 : 0.6;

const world = await World.withoutJest(0); // no replica, because `servers` starts the builds itself
const servers = new Servers(world);
try {
  await servers.start();
  if (beside !== undefined) await servers.addBuild('before', beside);
  await servers.addBuild('the service', PROJECT);
  const results = await measureAll(await scenariosOf(servers));
  const text = `${formatTable(results)}

![CPU time of a request, as a multiple of the hello world's](results.svg)

${rounds} rounds of ${secondsPerRound} s for each line.`;
  console.log(text);
  if (!quick) {
    saveResult('test/bench/RESULTS.md', 'npm run bench', text);
    writeFileSync('test/bench/results.svg', drawPicture(results));
  }
} finally {
  await servers.stop();
  await world.close();
}
process.exit(0);

async function measureAll(scenarios: readonly Scenario[]): Promise<Result[]> {
  for (const scenario of scenarios) await measure(scenario, WARM_UP_SECONDS);
  console.error('warmed up');
  const results = scenarios.map((scenario): Result => ({ scenario, rounds: [] }));
  for (let round = 1; round <= rounds; round++) {
    await measureRound(results);
    console.error(`round ${round} of ${rounds}`);
  }
  return results;
}

/**
 * Measures all servers once more, in a random order. Only ratios within a round are compared, because the speed of a
 * shared machine changes from second to second.
 */
async function measureRound(results: readonly Result[]): Promise<void> {
  const hello = results.filter(({ scenario }) => scenario.serverName === HELLO);
  const measured = new Map<Result, Measurement>();
  const helloCosts: number[] = [];
  // The hello world is measured more often, because all ratios depend on it
  for (const result of shuffle([...results, ...hello, ...hello])) {
    const measurement = await measure(result.scenario, secondsPerRound);
    measured.set(result, measurement);
    if (hello.includes(result)) helloCosts.push(measurement.cpuMicroseconds);
  }
  const helloCost = median(helloCosts);
  for (const [result, measurement] of measured) {
    const ratio = measurement.cpuMicroseconds / helloCost;
    result.rounds.push({ ...measurement, ratio });
  }
}

function shuffle<T>(list: readonly T[]): T[] {
  return list
    .map((item) => ({ item, place: Math.random() }))
    .toSorted((left, right) => left.place - right.place)
    .map(({ item }) => item);
}
