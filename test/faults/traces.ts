import { setTimeout as pause } from 'node:timers/promises';
import { generate } from '../bench/generate.js';
import { Collector } from '../support/collector.js';
import { cpuSeconds } from '../support/linux-process.js';
import { PATHS } from '../support/paths.js';
import { requestTo } from '../support/reader.js';
import type { RunningService } from '../support/service.js';
import { World } from '../support/world.js';
import { median } from './figures.js';

const CONNECTIONS = 50;
/** Rounds of the three settings take turns; the median of each counts, since the machine has pauses of its own. */
const ROUND_SECONDS = 3;

/** What tracing costs. */
export async function traces(rounds = 7): Promise<string> {
  const stage = await World.apart(0);
  const collector = await Collector.start();
  try {
    return await cost(stage, collector, rounds);
  } finally {
    await stage.close();
    await collector.close();
  }
}

async function cost(stage: World, collector: Collector, rounds: number): Promise<string> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT = '' } = collector.environment;
  const share = (ratio: string): Record<string, string> => ({
    OTEL_EXPORTER_OTLP_ENDPOINT,
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: ratio,
  });
  const settings = { off: {}, '1 %': share('0.01'), '100 %': share('1') };
  const replicas: [name: string, service: RunningService, microseconds: number[]][] = [];
  for (const [name, environment] of Object.entries(settings)) {
    const service = await stage.replica(environment);
    stage.replicas.push(service);
    replicas.push([name, service, []]);
  }
  for (let round = 0; round <= rounds; round++)
    for (const [, service, microseconds] of replicas) {
      const used = await load(stage, service);
      collector.spans.length = 0;
      if (round > 0) microseconds.push(used); // the first round warms up
    }
  const [off = NaN] = replicas.map(([, , microseconds]) => median(microseconds));
  return replicas
    .map(([name, , microseconds]) => {
      const used = median(microseconds);
      return `tracing ${name}: ${used.toFixed(1)} µs of CPU for each request, ${(used / off).toFixed(2)} times that without`;
    })
    .join('\n');
}

/** Microseconds of CPU time for each request, spans that wait for the next batch included. */
async function load(stage: World, { pid, port }: RunningService): Promise<number> {
  const { key, token } = stage.credentials;
  const before = cpuSeconds(pid);
  const tally = await generate({
    port,
    connections: CONNECTIONS,
    seconds: ROUND_SECONDS,
    requests: [requestTo(PATHS.orderUpdate, { 'Api-Key': key, Authorization: `Bearer ${token}` })],
    once: false,
    hasBody: true,
  });
  await pause(1_000);
  const count = Object.values(tally).reduce((sum, { length }) => sum + length, 0);
  return (1e6 * (cpuSeconds(pid) - before)) / count;
}
