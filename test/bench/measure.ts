import { readCpuSeconds } from '../support/process-figures.js';
import { generate } from './generate.js';
import type { Scenario } from './scenarios.js';

export interface Measurement {
  /** The CPU time of the server's process for one request, in microseconds. */
  readonly cpuMicroseconds: number;
  readonly requestsPerSecond: number;
  /** The share of one core that the server used. If it is far below 1, the load generator was the bottleneck. */
  readonly coreShare: number;
}

const CONNECTIONS = 32;
/** The limit of the scenario 429 is one request a minute. If a minute begins during the run, one answer is a 200. */
const MAX_OTHER_ANSWERS = 1;

/** @throws Error if answers have another status than the scenario expects */
export async function measure(scenario: Scenario, seconds: number): Promise<Measurement> {
  const { server, status } = scenario;
  const cpuBefore = readCpuSeconds(server.pid);
  const startedAt = performance.now();
  const tally = await generate({
    port: server.port,
    connections: CONNECTIONS,
    requests: rotateAtRandom(scenario.requests),
    end: { kind: 'time', seconds },
    spins: true,
  });
  const elapsedSeconds = (performance.now() - startedAt) / 1000;
  const usedSeconds = readCpuSeconds(server.pid) - cpuBefore;
  const answers = Object.values(tally).reduce((sum, count) => sum + count, 0);
  const expected = tally[status] ?? 0;
  if (answers - expected > MAX_OTHER_ANSWERS) {
    const statuses = Object.keys(tally).join(', ');
    throw new Error(`${scenario.name}: ${expected} of ${answers} answers are ${status} (${statuses})`);
  }
  return {
    cpuMicroseconds: (usedSeconds / answers) * 1e6,
    requestsPerSecond: answers / elapsedSeconds,
    coreShare: usedSeconds / elapsedSeconds,
  };
}

/** Rotates the requests at random. Otherwise each round would send the same filters, whose answers are cached. */
function rotateAtRandom(requests: readonly string[]): string[] {
  const first = Math.floor(Math.random() * requests.length);
  return [...requests.slice(first), ...requests.slice(0, first)];
}
