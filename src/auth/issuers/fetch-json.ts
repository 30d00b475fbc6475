/**
 * Fetches a JSON document from the issuer: for 2 s at most, and without redirects, since another server is not the issuer.
 * @throws Error that names the address and what was wrong
 */
export async function fetchJson(address: string): Promise<unknown> {
  try {
    const response = await fetch(address, {
      redirect: 'error',
      signal: AbortSignal.timeout(2_000),
      headers: { accept: 'application/json, application/jwk-set+json' },
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`status ${response.status}`);
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new Error(`${address} does not answer as it should`, { cause: error });
  }
}
