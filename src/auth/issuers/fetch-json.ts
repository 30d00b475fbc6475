import { Readable } from 'node:stream';

const TIMEOUT_MS = 2_000;
/** After decompression. */
const MAX_BYTES = 1024 ** 2;

/**
 * A document of an issuer. A redirect is not followed, since another server is not the issuer.
 * @throws Error that names the address and what was wrong
 */
export async function fetchJson(address: string): Promise<unknown> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const headers = { accept: 'application/json, application/jwk-set+json' };
    const response = await fetch(address, { redirect: 'error', signal, headers });
    if (response.status !== 200 || !response.body) throw new Error(`status ${response.status}`);
    // On Node.js 20 the signal of a fetch ends nothing after a garbage collection: so the stream has it, too
    const text = await readText(Readable.fromWeb(response.body, { signal }));
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new Error(`${address} does not answer as it should`, { cause: error });
  }
}

async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new Error(`the document has more than ${MAX_BYTES} bytes`);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}
