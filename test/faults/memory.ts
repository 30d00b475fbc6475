import { generate } from '../bench/generate.js';
import { residentMebibytes } from '../support/linux-process.js';
import { requestTo } from '../support/reader.js';
import { ALL_PATHS } from '../support/paths.js';
import type { World } from '../support/world.js';

/** Requests of one step, after which memory is read. */
const STEP = 100_000;
/** Requests that are made beforehand. */
const PART = 10_000;

/**
 * Resident memory of the service while it answers as many requests with one token, and then as many with a token of
 * their own each.
 * @param kibibytes the least size of these tokens
 */
export async function memory(world: World, count = 1_000_000, kibibytes = '0'): Promise<string> {
  const service = await world.replica({ NODE_OPTIONS: '--max-semi-space-size=8' }); // as in the image
  const [, es256] = world.issuer.keys;
  const padding = 'x'.repeat(Number(kibibytes) * 768); // base64 makes 1,024 characters of 768
  const requestAt = (index: number, bearer: string): string =>
    requestTo(ALL_PATHS[index % ALL_PATHS.length] as string, {
      ...world.headers,
      Authorization: `Bearer ${bearer}`,
    });
  const load = { port: service.port, connections: 32, seconds: 0, once: true };
  const send = async (made: Promise<string>[]): Promise<void> => {
    const requests = await Promise.all(made);
    const tally = await generate({ ...load, requests });
    if (tally['200']?.length !== requests.length)
      throw new Error(`not all were answered 200: ${Object.keys(tally).join()}`);
  };
  const kinds = [
    { name: 'with one token', nextToken: () => Promise.resolve(world.token) },
    {
      name: 'each with a token of its own',
      nextToken: () => world.issuer.token({ key: es256, claims: { padding } }),
    },
  ];
  const lines = [`at the start ${Math.round(residentMebibytes(service.pid))} MiB`];
  for (const { name, nextToken } of kinds) {
    const found: number[] = [];
    for (let done = 0; done < count; done += STEP) {
      for (let part = 0; part < STEP; part += PART) {
        const indexes = Array.from({ length: PART }, (_, index) => index);
        await send(indexes.map(async (index) => requestAt(index, await nextToken())));
      }
      found.push(residentMebibytes(service.pid));
    }
    lines.push(`${count} requests ${name}: ${describe(found)}`);
  }
  return lines.join('\n');
}

function describe(mebibytes: readonly number[]): string {
  const first = mebibytes[0] ?? NaN;
  const last = mebibytes.at(-1) ?? NaN;
  const growthPercent = (100 * (last / first - 1)).toFixed(1);
  const sizes = mebibytes.map((size) => Math.round(size)).join(', ');
  return `${sizes} MiB after each ${STEP}; ${growthPercent} % over the first`;
}
