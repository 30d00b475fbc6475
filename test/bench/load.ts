import { cpuSeconds } from '../support/linux-process.js';
import { requestTo } from '../support/reader.js';
import type { RunningService } from '../support/service.js';
import { generate } from './generate.js';
import type { Load } from './generator.js';

export interface Scenario {
  readonly name: string;
  readonly server: RunningService;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly status: number;
  /** Instead of `path`, in turn. */
  readonly paths?: readonly string[];
  /** Different access tokens, one for each request; the run ends when they are used up. */
  readonly tokens?: readonly string[];
  /** Requests a second, whatever comes back; without it as many as are answered. */
  readonly perSecond?: number;
  /** Runs beside the load and is stopped with it. */
  readonly beside?: () => () => void;
}

export interface Measurement {
  /** CPU time of the server for a request, in microseconds. */
  readonly cpu: number;
  readonly perSecond: number;
  /** Milliseconds. */
  readonly p99: number;
  /** Milliseconds that a turn of the server's event loop took at most; NaN of node:http. */
  readonly turn: number;
  /** Share of one core that the server had. Near 1: the server is the bottleneck, not the load generator. */
  readonly busy: number;
}

export async function measure(
  { server, path, paths = [path], headers, status, tokens, perSecond, beside }: Scenario,
  seconds: number,
  connections: number,
): Promise<Measurement> {
  const requests = tokens
    ? tokens.map((token) => requestTo(path, { ...headers, Authorization: `Bearer ${token}` }))
    : paths.map((each) => requestTo(each, headers));
  const load: Load = {
    port: server.port,
    connections,
    seconds,
    requests,
    once: tokens !== undefined,
    spins: perSecond === undefined,
    perSecond,
  };
  /** In seconds; begins anew with each reading. */
  const longestTurn = (): Promise<number> =>
    server.metric('nodejs_eventloop_lag_max_seconds').catch(() => NaN);
  await longestTurn();
  const stop = beside?.();
  const [cpuBefore, startedAt] = [cpuSeconds(server.pid), performance.now()];
  const tally = await generate(load);
  stop?.();
  const elapsed = (performance.now() - startedAt) / 1000;
  const cpu = cpuSeconds(server.pid) - cpuBefore;
  const latencies = tally[status]?.sort() ?? new Float64Array();
  const others = Object.entries(tally).filter(([other]) => other !== String(status));
  if (others.length > 0)
    throw new Error(
      `${path}: ${others.map(([other, { length }]) => `${length} times ${other}`).join(', ')} where ${status} was expected`,
    );
  const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? NaN;
  return {
    cpu: (cpu / latencies.length) * 1e6,
    perSecond: latencies.length / elapsed,
    p99: at(0.99),
    turn: (await longestTurn()) * 1000,
    busy: cpu / elapsed,
  };
}
