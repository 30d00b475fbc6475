import autocannon from 'autocannon';
import type { Server } from './process.js';

export interface Scenario {
  readonly name: string;
  readonly server: Server;
  readonly path: string;
  readonly method?: 'GET' | 'HEAD';
  readonly headers: Record<string, string>;
  readonly status: number;
  /** Different Authorization headers, one for each request; the run ends when they are used up. */
  readonly tokens?: readonly string[];
  /** Runs beside the load and is stopped with it. */
  readonly beside?: () => () => void;
}

export interface Measurement {
  /** CPU time of the server for a request, in microseconds. */
  readonly cpu: number;
  readonly perSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Share of one core that the server had. Near 1: the server is the bottleneck, not the load generator. */
  readonly busy: number;
}

export async function measure(
  { server, path, method = 'GET', headers, status, tokens, beside }: Scenario,
  seconds: number,
  connections: number,
): Promise<Measurement> {
  let next = 0;
  const stop = beside?.();
  const before = { cpu: server.cpu, at: performance.now() };
  const result = await autocannon({
    url: server.url + path,
    method,
    headers,
    connections,
    ...(tokens
      ? {
          amount: tokens.length,
          requests: [
            {
              setupRequest: (request) => ({
                ...request,
                headers: { ...headers, authorization: `Bearer ${tokens[next++ % tokens.length]}` },
              }),
            },
          ],
        }
      : { duration: seconds }),
  });
  stop?.();
  const elapsed = (performance.now() - before.at) / 1000;
  const cpu = server.cpu - before.cpu;
  const answered = Object.entries(result.statusCodeStats ?? {}).map(([code, { count }]) => [Number(code), count ?? 0] as const);
  const wrong = answered.filter(([code]) => code !== status);
  if (wrong.length > 0 || result.errors > 0)
    throw new Error(`${server.name} ${path}: ${JSON.stringify(wrong)} and ${result.errors} errors where ${status} was expected`);
  const total = answered.reduce((sum, [, count]) => sum + count, 0);
  return { cpu: (cpu / total) * 1e6, perSecond: total / elapsed, p50: result.latency.p50, p99: result.latency.p99, busy: cpu / elapsed };
}
