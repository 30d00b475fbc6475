// The metrics of the service. No label holds a key, a token, a subject or free text: operations are route patterns, reasons are fixed words.
import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client';
import { DeferredCounter, DeferredHistogram } from './deferred-metrics.js';

export const registry = new Registry();
// The delay of the event loop is sampled by a timer of this many milliseconds: a shorter one costs an idle process a third of a percent of a core
collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 20 });

const of = <Label extends string>(name: string, help: string, ...labelNames: Label[]) => ({
  name: `order_lookup_${name}`,
  help,
  labelNames,
  registers: [registry],
});

/** Measures a gauge at each scrape. */
export function measureOnScrape<Label extends string>(
  gauge: Gauge<Label>,
  measure: () => void,
): void {
  (gauge as { collect?: () => void }).collect = measure;
}

export const requests = new DeferredCounter(
  of('http_requests_total', 'Requests answered', 'operation', 'status'),
);
export const clientRequests = new DeferredCounter(
  of(
    'client_requests_total',
    'Requests answered, by the client of their API key: at most 1,000 clients have names, the rest are other',
    'client',
    'status',
  ),
);
export const requestDuration = new DeferredHistogram({
  ...of(
    'http_request_duration_seconds',
    'Time from the end of the header section of a request until its answer is handed to the connection',
    'operation',
  ),
  buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
});
export const credentialsRefused = new Counter(
  of('credentials_refused_total', 'Credentials refused', 'credential', 'reason'),
);
export const requestsShed = new Counter(
  of('requests_shed_total', 'Requests answered 503 because of overload'),
);
export const connectionsRefused = new Counter(
  of(
    'connections_refused_total',
    'Connections closed because a limit was reached: stranger (an open one without a valid API key) or newcomer (a new one, while all others had one)',
    'whose',
  ),
);
export const connections = new Gauge(of('connections', 'Open connections on the port of the API'));
export const snapshotRevision = new Gauge(
  of('snapshot_revision', 'Number of transactions that changed what is served', 'topic'),
);
export const snapshotAge = new Gauge(
  of('snapshot_age_seconds', 'Time since the database last confirmed what is served', 'topic'),
);
export const snapshotReloads = new Counter(
  of(
    'snapshot_reloads_total',
    'Reloads by result: loaded, refused (failed its check) or failed',
    'topic',
    'result',
  ),
);
export const servedFromFile = new Gauge(
  of(
    'served_from_file',
    '1 while codes, keys or signing keys (what) are served from LAST_GOOD_FILE, because the database or an issuer was away at the start',
    'what',
  ),
);
export const lastGoodWrites = new Counter(
  of('last_good_writes_total', 'Writes of LAST_GOOD_FILE by result: written or failed', 'result'),
);
export const unrecordedChanges = new Counter(
  of('unrecorded_changes_total', 'Readings that found a change without a record of it', 'topic'),
);
export const recordGaps = new Gauge(
  of('record_gaps', 'Tables whose record of changes may be incomplete: see the view record_gap'),
);
export const communicationCodes = new Gauge(
  of('communication_codes', 'Communication codes served'),
);
export const nextMoment = new Gauge(
  of('next_moment_timestamp_seconds', 'When the next code begins or ends; 0 where none will'),
);
export const momentsSwitched = new Counter(
  of('moments_switched_total', 'Moments at which codes began or ended'),
);
export const momentLateness = new Gauge(
  of('moment_lateness_seconds', 'How late the last moment was switched'),
);
export const databaseUp = new Gauge(of('database_up', '1 while the database answers'));
export const listenerUp = new Gauge(
  of(
    'listener_up',
    '1 while notifications of changes arrive; the service tests this every 20 seconds',
  ),
);
export const jwksAge = new Gauge(
  of('jwks_age_seconds', 'Time since the key set of the issuer was last fetched', 'issuer'),
);
export const jwksKeys = new Gauge(
  of('jwks_keys', 'Usable keys in the key set of the issuer', 'issuer'),
);
export const jwksFetches = new Counter(
  of(
    'jwks_fetches_total',
    'Fetches of the key set by result: loaded or failed',
    'issuer',
    'result',
  ),
);
export const tokenCacheEntries = new Gauge(
  of('token_cache_entries', 'Verified access tokens remembered'),
);
export const tokenCacheLookups = new Counter(
  of(
    'token_cache_lookups_total',
    'Look-ups in the cache of verified tokens: hit or miss',
    'result',
  ),
);
export const logLinesDropped = new Counter(
  of('log_lines_dropped_total', 'Log lines dropped because their reader stalled'),
);
export const spans = new Counter(
  of(
    'spans_total',
    'Spans that were recorded; and those of them that the collector accepted (sent) or did not (failed). The rest waits, or was dropped because too many waited',
    'result',
  ),
);
