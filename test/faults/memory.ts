import { KeyObject, randomUUID, sign } from 'node:crypto';
import { generate } from '../bench/generate.js';
import { residentMebibytes } from '../support/linux-process.js';
import { requestTo } from '../support/reader.js';
import { ALL_PATHS } from '../support/paths.js';
import type { World } from '../support/world.js';

/** Requests of one step, after which memory is read. */
const STEP = 100_000;

/** Resident memory of the service while it answers as many requests with one token, and then as many with a token of their own each, of at least so many KiB. */
export async function memory(world: World, requests = 1_000_000, kibibytes = '0'): Promise<string> {
  const service = await world.replica({ NODE_OPTIONS: '--max-semi-space-size=8' }); // as in the image
  const [, ec] = world.issuer.keys;
  if (!ec) throw new Error('no key');
  const privateKey = KeyObject.from(ec.privateKey);
  const base64 = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
  const head = base64({ alg: ec.alg, kid: ec.kid, typ: 'at+jwt' });
  const padding = 'x'.repeat(Number(kibibytes) * 768); // base64 makes 1,024 characters of 768
  const newToken = (): string => {
    const signed = `${head}.${base64({ ...world.issuer.claims, exp: Math.floor(Date.now() / 1000) + 3600, jti: randomUUID(), padding })}`;
    return `${signed}.${sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
  };
  const { key, token } = world.credentials;
  const request = (bearer: string, at: number): string =>
    requestTo(ALL_PATHS[at % ALL_PATHS.length] as string, {
      'Api-Key': key,
      Authorization: `Bearer ${bearer}`,
    });
  const send = async (packets: string[]): Promise<void> => {
    const tally = await generate({
      port: service.port,
      connections: 32,
      seconds: 0,
      requests: packets,
      once: true,
      hasBody: true,
    });
    if (tally['200']?.length !== packets.length)
      throw new Error(`not all were answered 200: ${Object.keys(tally).join()}`);
  };
  const lines = [`at the start ${Math.round(residentMebibytes(service.pid))} MiB`];
  for (const [name, packets] of [
    [
      'with one token',
      (size: number) => Array.from({ length: size }, (_, at) => request(token, at)),
    ],
    [
      'each with a token of its own',
      (size: number) => Array.from({ length: size }, (_, at) => request(newToken(), at)),
    ],
  ] as const) {
    const found: number[] = [];
    for (let done = 0; done < requests; done += STEP) {
      for (let part = 0; part < STEP; part += STEP / 10) await send(packets(STEP / 10));
      found.push(residentMebibytes(service.pid));
    }
    const [first = NaN, last = NaN] = [found[0], found.at(-1)];
    lines.push(
      `${requests} requests ${name}: ${found.map((mebibytes) => Math.round(mebibytes)).join(', ')} MiB after each ${STEP}; ${(100 * (last / first - 1)).toFixed(1)} % over the first`,
    );
  }
  return lines.join('\n');
}
