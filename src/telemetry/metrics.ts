// The metrics of the service. No label holds a key, a token, a subject or free text: operations are route patterns, reasons are fixed words.
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';

/** How many clients the metric names: each client takes one series for each status. */
const MOST_CLIENTS = 1_000;
const OTHER_CLIENTS = 'other';

/** Measures a gauge at each scrape. */
export function measureOnScrape<Label extends string>(
  gauge: Gauge<Label>,
  measure: () => void,
): void {
  (gauge as { collect?: () => void }).collect = measure;
}

@Injectable()
export class Metrics implements OnModuleInit {
  readonly registry = new Registry();
  readonly requests = this.counter(
    'http_requests_total',
    'Requests answered',
    'operation',
    'status',
  );
  readonly clientRequests = this.counter(
    'client_requests_total',
    'Requests answered, by the client of their API key: at most 1,000 clients have names, the rest are other',
    'client',
    'status',
  );
  readonly requestDuration = new Histogram({
    ...this.of(
      'http_request_duration_seconds',
      'Time from the end of the header section of a request until its answer is handed to the connection',
      'operation',
    ),
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
  });
  readonly credentialsRefused = this.counter(
    'credentials_refused_total',
    'Credentials refused',
    'credential',
    'reason',
  );
  readonly connectionsRefused = this.counter(
    'connections_refused_total',
    'Connections closed because of a limit: connections (of the process, for a new one) or waiting-requests (on the connection)',
    'limit',
  );
  readonly connections = this.gauge('connections', 'Open connections on the port of the API');
  readonly snapshotAge = this.gauge(
    'snapshot_age_seconds',
    'Time since the database last confirmed what is served',
    'topic',
  );
  readonly snapshotReloads = this.counter(
    'snapshot_reloads_total',
    'Reloads by result: loaded, refused (failed its check) or failed',
    'topic',
    'result',
  );
  readonly servedFromFile = this.gauge(
    'served_from_file',
    '1 while codes, keys or signing keys (what) are served from LAST_GOOD_FILE, because the database or an issuer was away at the start',
    'what',
  );
  readonly lastGoodWrites = this.counter(
    'last_good_writes_total',
    'Writes of LAST_GOOD_FILE by result: written or failed',
    'result',
  );
  readonly unrecordedChanges = this.counter(
    'unrecorded_changes_total',
    'Readings that found a change without a stamp',
    'topic',
  );
  readonly triggerFaults = this.gauge(
    'trigger_faults',
    'Triggers of the record of changes that are missing or switched off: see the view trigger_fault',
  );
  readonly secondsUntilRefusal = this.gauge(
    'seconds_until_refusal',
    'Time until callers are refused because keys or signing-keys (what) can no longer be confirmed; 0 or less once that has begun',
    'what',
  );
  readonly communicationCodes = this.gauge('communication_codes', 'Communication codes served');
  readonly nextMoment = this.gauge(
    'next_moment_timestamp_seconds',
    'When the next code begins or ends; 0 where none will',
  );
  readonly momentsSwitched = this.counter(
    'moments_switched_total',
    'Moments at which codes began or ended',
  );
  readonly databaseUp = this.gauge('database_up', '1 while the database answers');
  readonly jwksAge = this.gauge(
    'jwks_age_seconds',
    'Time since the key set of the issuer was last fetched',
    'issuer',
  );
  readonly jwksKeys = this.gauge('jwks_keys', 'Usable keys in the key set of the issuer', 'issuer');
  readonly jwksFetches = this.counter(
    'jwks_fetches_total',
    'Fetches of the key set by result: loaded or failed',
    'issuer',
    'result',
  );
  readonly nextKeyExpiry = this.gauge(
    'next_key_expiry_seconds',
    'Time until the first API key in force ends; +Inf where none will',
  );
  readonly tokenCacheEntries = this.gauge(
    'token_cache_entries',
    'Verified access tokens remembered',
  );
  readonly tokenCacheLookups = this.counter(
    'token_cache_lookups_total',
    'Look-ups in the cache of verified tokens: hit or miss',
    'result',
  );
  readonly logLinesDropped = this.counter(
    'log_lines_dropped_total',
    'Log lines dropped because their reader stalled',
  );
  readonly spans = this.counter(
    'spans_total',
    'Spans that were recorded; and those of them that the collector accepted (sent) or did not (failed). The rest waits, or was dropped because too many waited',
    'result',
  );

  private readonly clients = new Set<string>();

  /** Adds the metrics of the process. */
  onModuleInit(): void {
    // The delay of the event loop is sampled by a timer of this many milliseconds: a shorter one costs an idle process a third of a percent of a core
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: 20 });
  }

  /**
   * Counts an answered request.
   * @param operation the pattern of its route: one of a fixed set
   * @param client the client of its API key, if the key is in force
   */
  countRequest(operation: string, status: number, seconds: number, client?: string): void {
    this.requests.inc({ operation, status });
    this.requestDuration.observe({ operation }, seconds);
    if (client === undefined) return;
    const isNamed = this.clients.has(client) || this.clients.size < MOST_CLIENTS;
    if (isNamed) this.clients.add(client);
    this.clientRequests.inc({ client: isNamed ? client : OTHER_CLIENTS, status });
  }

  private of<Label extends string>(name: string, help: string, ...labelNames: Label[]) {
    return { name: `order_lookup_${name}`, help, labelNames, registers: [this.registry] };
  }

  private counter<Label extends string>(...of: [string, string, ...Label[]]): Counter<Label> {
    return new Counter(this.of(...of));
  }

  private gauge<Label extends string>(...of: [string, string, ...Label[]]): Gauge<Label> {
    return new Gauge(this.of(...of));
  }
}
