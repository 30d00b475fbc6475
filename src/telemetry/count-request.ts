import { clientRequests, requestDuration, requests } from './metrics.js';

/** How many clients the metric names: each client takes one series for each status. */
const MOST_CLIENTS = 1_000;
const OTHER_CLIENTS = 'other';

/**
 * Counts an answered request.
 * @param operation the pattern of its route: one of a fixed set
 * @param client the client of its API key, if the key is in force
 */
export function countRequest(
  operation: string,
  status: number,
  seconds: number,
  client?: string,
): void {
  requests.inc(operation, status);
  requestDuration.observe(operation, seconds);
  if (client === undefined) return;
  const named = clientRequests.has(client) || clientRequests.size < MOST_CLIENTS;
  clientRequests.inc(named ? client : OTHER_CLIENTS, status);
}
