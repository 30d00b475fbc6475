import { requestTo } from '../support/reader.js';
import { generate } from './generate.js';
import type { Tally } from './generator.js';
import type { Server } from './process.js';

export interface OverloadMeasurement {
  readonly connections: number;
  /** Requests a second that are answered as fast as it can. */
  readonly capacity: number;
  /** Share of the capacity that is still answered 200 when twice as much is asked for. */
  readonly answered: number;
  /** Requests answered 503, and how soon after they were sent, in milliseconds. */
  readonly refused: number;
  readonly refusedP99: number;
}

/** Finds the capacity for one request, then asks for twice as much, whatever comes back. */
export async function measureOverload(
  server: Server,
  path: string,
  headers: Record<string, string>,
  connections: number,
  seconds: number,
): Promise<OverloadMeasurement> {
  const run = async (perSecond?: number): Promise<Tally> => {
    const requests = [requestTo(path, headers)];
    const port = Number(new URL(server.url).port);
    return generate({
      port,
      connections,
      seconds,
      requests,
      once: false,
      hasBody: true,
      perSecond,
    });
  };
  const good = ({ 200: answered }: Tally): number => (answered?.length ?? 0) / seconds;
  const capacity = good(await run());
  const overloaded = await run(2 * capacity);
  const refused = overloaded[503]?.sort() ?? new Float64Array();
  return {
    connections,
    capacity,
    answered: good(overloaded) / capacity,
    refused: refused.length,
    refusedP99: refused[Math.floor(refused.length * 0.99)] ?? NaN,
  };
}
