import { cpuSeconds } from '../support/linux-process.js';
import { generate } from './generate.js';
import type { Scenario } from './scenarios.js';

export interface Measurement {
  /** CPU time of the server's process for one request, in microseconds. */
  readonly cpuMicroseconds: number;
  readonly requestsPerSecond: number;
  /** Share of one core that the server had. Far below 1, the load generator was the bottleneck. */
  readonly coreShare: number;
}

const CONNECTIONS = 32;

/** @throws Error if an answer has another status than the scenario expects */
export async function measure(scenario: Scenario, seconds: number): Promise<Measurement> {
  const { server, status } = scenario;
  const cpuBefore = cpuSeconds(server.pid);
  const startedAt = performance.now();
  const tally = await generate({
    port: server.port,
    connections: CONNECTIONS,
    seconds,
    requests: fromAnyPlace(scenario.requests),
    once: false,
    spins: true,
  });
  const elapsedSeconds = (performance.now() - startedAt) / 1000;
  const usedSeconds = cpuSeconds(server.pid) - cpuBefore;
  for (const [found, { length }] of Object.entries(tally)) {
    if (found === String(status)) continue;
    throw new Error(
      `${scenario.name}: ${length} answers have status ${found} instead of ${status}`,
    );
  }
  const count = tally[status]?.length ?? 0;
  return {
    cpuMicroseconds: (usedSeconds / count) * 1e6,
    requestsPerSecond: count / elapsedSeconds,
    coreShare: usedSeconds / elapsedSeconds,
  };
}

/** So that filters which are new do not stand where the round before began. */
function fromAnyPlace(requests: readonly string[]): string[] {
  const first = Math.floor(Math.random() * requests.length);
  return [...requests.slice(first), ...requests.slice(0, first)];
}
