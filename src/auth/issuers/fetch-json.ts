import { Readable } from 'node:stream';

const TIMEOUT_MS = 2_000;
/** After decompression. */
const MAX_BYTES = 1024 ** 2;

/** @throws Error that names the address and what was wrong; also at a redirect, since another server is not the issuer */
export async function fetchJson(address: string): Promise<unknown> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const accept = 'application/json, application/jwk-set+json';
    const response = await fetch(address, { redirect: 'error', signal, headers: { accept } });
    if (response.status !== 200 || !response.body) throw new Error(`status ${response.status}`);
    // On Node.js 20 the signal of a fetch ends nothing after a garbage collection: so the stream has it, too
    const body: AsyncIterable<Buffer> = Readable.fromWeb(response.body, { signal });
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of body) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MAX_BYTES) throw new Error(`the document has more than ${MAX_BYTES} bytes`);
    }
    return JSON.parse(new TextDecoder().decode(Buffer.concat(chunks))) as unknown;
  } catch (error) {
    throw new Error(`${address} does not answer as it should`, { cause: error });
  }
}
