import type { Credentials } from '../support/traffic.js';

const LIMIT_MS = 2_000;

const ask = (url: string, { key, token }: Credentials): Promise<Response> =>
  fetch(url, {
    headers: { 'Api-Key': key, Authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(LIMIT_MS),
  });

/** The status, or 0 if there was no answer in time. A probe never ends the run that makes it. */
export async function statusOf(url: string, credentials: Credentials): Promise<number> {
  try {
    const response = await ask(url, credentials);
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0;
  }
}

/** The body, or '' if there was no answer in time. */
export async function textOf(url: string, credentials: Credentials): Promise<string> {
  try {
    return await (await ask(url, credentials)).text();
  } catch {
    return '';
  }
}
