// Fails if an answer is not 200. The memory is only reported.
import { generate } from '../bench/generate.js';
import { readResidentMebibytes } from '../support/process-figures.js';
import { requestTo } from '../support/reader.js';
import { ALL_PATHS } from '../support/paths.js';
import type { RunningService } from '../support/running-service.js';
import type { World } from '../support/world.js';

/** The number of requests between two readings of the memory. */
const REQUESTS_OF_A_STEP = 100_000;
/** The number of requests whose tokens are all signed before the first request is sent. */
const REQUESTS_OF_A_BATCH = 10_000;
const BYTES_OF_A_KIBIBYTE = 1_024;
/** Base64 makes four characters from three bytes. */
const BYTES_OF_A_BASE64_CHARACTER = 3 / 4;

interface Kind {
  readonly name: string;
  readonly nextToken: () => Promise<string>;
}

/**
 * Reports the resident memory of the service during requests with one token, and then with a new token each.
 * @param count the number of requests of each kind, a multiple of REQUESTS_OF_A_STEP
 * @param leastKibibytes the lowest size of the new tokens
 */
export async function memory(world: World, count = 1_000_000, leastKibibytes = '0'): Promise<string> {
  if (count % REQUESTS_OF_A_STEP !== 0) throw new Error(`${count} requests are no multiple of ${REQUESTS_OF_A_STEP}`);
  const service = await world.startReadyReplica({ NODE_OPTIONS: '--max-semi-space-size=8' }); // as in the image
  const key = world.issuer.keys.find(({ alg }) => alg === 'ES256');
  const paddingBytes = Number(leastKibibytes) * BYTES_OF_A_KIBIBYTE * BYTES_OF_A_BASE64_CHARACTER;
  const claims = { padding: 'x'.repeat(paddingBytes) };
  const kinds: Kind[] = [
    { name: 'with one token', nextToken: async () => world.token },
    { name: 'each with a token of its own', nextToken: () => world.issuer.createToken({ key, claims }) },
  ];
  const lines = [`at the start ${Math.round(readResidentMebibytes(service.pid))} MiB`];
  for (const { name, nextToken } of kinds) {
    const mebibytes: number[] = [];
    for (let done = 0; done < count; done += REQUESTS_OF_A_STEP) {
      for (let sent = 0; sent < REQUESTS_OF_A_STEP; sent += REQUESTS_OF_A_BATCH)
        await sendAll(service, await requestsOfABatch(world, nextToken));
      mebibytes.push(readResidentMebibytes(service.pid));
    }
    lines.push(`${count} requests ${name}: ${describe(mebibytes)}`);
  }
  return lines.join('\n');
}

function requestsOfABatch(world: World, nextToken: Kind['nextToken']): Promise<string[]> {
  const requests = Array.from({ length: REQUESTS_OF_A_BATCH }, async (_, index) => {
    const path = ALL_PATHS[index % ALL_PATHS.length] as string;
    const Authorization = `Bearer ${await nextToken()}`;
    return requestTo(path, { ...world.headers, Authorization });
  });
  return Promise.all(requests);
}

async function sendAll({ port }: RunningService, requests: readonly string[]): Promise<void> {
  const tally = await generate({ port, connections: 32, requests, end: { kind: 'all sent' } });
  if (tally['200'] !== requests.length) throw new Error(`not all were answered 200: ${Object.keys(tally).join()}`);
}

function describe(mebibytes: readonly number[]): string {
  const first = mebibytes[0] ?? NaN;
  const last = mebibytes.at(-1) ?? NaN;
  const growthPercent = (100 * (last / first - 1)).toFixed(1);
  const sizes = mebibytes.map((size) => Math.round(size)).join(', ');
  return `${sizes} MiB after each ${REQUESTS_OF_A_STEP}; ${growthPercent} % over the first`;
}
