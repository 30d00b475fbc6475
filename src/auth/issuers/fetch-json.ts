export const TIMEOUT_MS = 2_000;
const MAX_BYTES = 256 * 1024;

/**
 * Fetches a JSON document from the issuer: at most 2 s and 256 KiB, and no redirects, since another server is not the issuer.
 * @throws Error that names the address and what was wrong
 */
export async function fetchJson(
  address: string,
  signal = AbortSignal.timeout(TIMEOUT_MS),
): Promise<unknown> {
  try {
    const response = await fetch(address, {
      redirect: 'error',
      signal,
      headers: { accept: 'application/json, application/jwk-set+json' },
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new Error(`status ${response.status}`);
    }
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of response.body ?? []) {
      size += (chunk as Uint8Array).length;
      if (size > MAX_BYTES) throw new Error(`more than ${MAX_BYTES} bytes`);
      chunks.push(chunk as Uint8Array);
    }
    return JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown;
  } catch (error) {
    throw new Error(`${address} does not answer as it should`, { cause: error });
  }
}
