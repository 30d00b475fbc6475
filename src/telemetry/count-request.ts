import { type Observations, TallyTable } from './deferred-metrics.js';
import { clientRequests, requestDuration, requests } from './metrics.js';

/** How many clients the metric names: each client takes one series for each status. */
const MOST_CLIENTS = 1_000;
const OTHER_CLIENTS = 'other';

const durations = new Map<string, Observations>();
const byOperation = new TallyTable((operation, status) => requests.labels({ operation, status }));
const byClient = new TallyTable((client, status) => clientRequests.labels({ client, status }));

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
  byOperation.inc(operation, status);
  let observed = durations.get(operation);
  if (!observed) durations.set(operation, (observed = requestDuration.labels({ operation })));
  observed.observe(seconds);
  if (client === undefined) return;
  const named = byClient.has(client) || byClient.size < MOST_CLIENTS;
  byClient.inc(named ? client : OTHER_CLIENTS, status);
}
