import type { Observations, Tally } from './deferred-metrics.js';
import { requestDuration, requests } from './metrics.js';

interface Operation {
  readonly durations: Observations;
  readonly byStatus: Map<number, Tally>;
}

const operations = new Map<string, Operation>();

/** Takes note of an answered request. The name of the operation is the pattern of its route: one of a fixed set. */
export function countRequest(name: string, status: number, seconds: number): void {
  let operation = operations.get(name);
  if (!operation)
    operations.set(
      name,
      (operation = { durations: requestDuration.labels({ operation: name }), byStatus: new Map() }),
    );
  let tally = operation.byStatus.get(status);
  if (!tally)
    operation.byStatus.set(status, (tally = requests.labels({ operation: name, status })));
  tally.inc();
  operation.durations.observe(seconds);
}
