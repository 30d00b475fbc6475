import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import { version } from './version.js';

/** The largest number of clients that have series of their own. All further clients share the series `other`. */
const MAX_NAMED_CLIENTS = 1_000;
const OTHER_CLIENTS = 'other';
/**
 * The statuses that alerts watch. The first request of an operation makes their series, with 0. If a series began with
 * its first error, at 1, Prometheus would not see an increase.
 */
const ALERTED_STATUSES = [401, 403, 500, 503];
const ALERTED_STATUSES_OF_CLIENT = [401, 403];
/** The name of the operation, in metrics and log, if no route was found. */
export const NO_OPERATION = 'none';
/** The upper bounds of the buckets, in seconds. Keep 0.25 s, because the alert on slow answers needs it. */
const DURATION_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];
/** The interval at which a timer measures the event loop's delay. A shorter interval keeps an idle process busy. */
const EVENT_LOOP_PRECISION_MS = 20;

interface ObservedRequest {
  /** The pattern of the route; undefined if no route was found. Do not pass the path: each path would be a series. */
  readonly operation: string | undefined;
  readonly status: number;
  /** Undefined if the start of the request is not known. Then the request is counted without a duration. */
  readonly durationMs: number | undefined;
  readonly client?: string | undefined;
}

interface MetricOptions<Label extends string> {
  /** The name without the prefix of the service. */
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly Label[];
}

interface GaugeOptions<Label extends string> extends MetricOptions<Label> {
  /** Sets the gauge. The registry calls `collect` at each scrape. */
  readonly collect: (gauge: Gauge<Label>) => void;
}

interface RequestSeries {
  readonly count: Counter.Internal;
  readonly durations: Histogram.Internal<'operation'>;
}

/**
 * The metrics of the service. Put no key, token, subject or free text into a label. Do not rename a metric: operators
 * have copied the dashboards and alerts of deploy/.
 */
@Injectable()
export class Metrics implements OnModuleInit {
  /** Must be the first field, because the metrics below register themselves in it. */
  readonly registry = new Registry();
  readonly requests = this.createCounter({
    name: 'http_requests_total',
    help: 'Answers',
    labelNames: ['operation', 'status'],
  });
  readonly requestDuration = new Histogram({
    ...this.toSettings({
      name: 'http_request_duration_seconds',
      help: 'Time to answer a request',
      labelNames: ['operation'],
    }),
    buckets: DURATION_BUCKETS,
  });
  readonly clientRequests = this.createCounter({
    name: 'client_requests_total',
    help:
      `Answers by the client of the API key. The first ${MAX_NAMED_CLIENTS} clients have their names, all others are ` +
      'called other',
    labelNames: ['client', 'status'],
  });
  readonly credentialsRefused = this.createCounter({
    name: 'credentials_refused_total',
    help: 'Credentials refused',
    labelNames: ['credential', 'reason'],
  });
  readonly connectionsRefused = this.createCounter({
    name: 'connections_refused_total',
    help:
      'Connections closed because the process (limit="connections") or one connection (limit="waiting-requests") ' +
      'had reached its limit',
    labelNames: ['limit'],
  });
  readonly snapshotReloads = this.createCounter({
    name: 'snapshot_reloads_total',
    help: 'Attempts to read codes or keys; the result is loaded or failed. While the database is away, there are none',
    labelNames: ['topic', 'result'],
  });
  readonly effectiveTimesPassed = this.createCounter({
    name: 'moments_switched_total', // dashboards use this name for effective times that have come
    help: 'How often a request found that codes had begun or ended since the last request',
  });
  readonly tokensVerified = this.createCounter({
    name: 'tokens_verified_total',
    help: 'Access tokens that were checked, accepted or not; remembered tokens are not checked again',
  });
  readonly logLinesDropped = this.createCounter({
    name: 'log_lines_dropped_total',
    help: 'Log lines that the reader of standard output did not take',
  });
  /** A cache of the series by status and operation. prom-client would take longer to find a series by its labels. */
  private readonly requestSeries = new Map<string, RequestSeries>();
  private readonly namedClients = new Set<string>();

  onModuleInit(): void {
    this.addGauge<'version'>({
      name: 'build_info',
      help: 'Always 1, with the version of the service',
      labelNames: ['version'],
      collect: (gauge) => gauge.set({ version }, 1),
    });
    // Not in the constructor: this call starts to watch the event loop, and only a running service needs that
    collectDefaultMetrics({
      register: this.registry,
      eventLoopMonitoringPrecision: EVENT_LOOP_PRECISION_MS,
    });
  }

  observeRequest({ operation, status, durationMs, client }: ObservedRequest): void {
    const { count, durations } = this.findSeries(operation ?? NO_OPERATION, status);
    count.inc();
    if (durationMs !== undefined) durations.observe(durationMs / 1000);
    if (client !== undefined) this.clientRequests.inc({ client: this.toClientLabel(client), status });
  }

  addGauge<Label extends string = never>({ collect, ...options }: GaugeOptions<Label>): void {
    const settings = this.toSettings(options);
    const gauge: Gauge<Label> = new Gauge({ ...settings, collect: () => collect(gauge) });
  }

  private findSeries(operation: string, status: number): RequestSeries {
    const key = `${status} ${operation}`;
    const known = this.requestSeries.get(key);
    if (known) return known;
    for (const alerted of ALERTED_STATUSES) this.requests.inc({ operation, status: alerted }, 0);
    const series = {
      count: this.requests.labels({ operation, status }),
      durations: this.requestDuration.labels({ operation }),
    };
    this.requestSeries.set(key, series);
    return series;
  }

  private toClientLabel(client: string): string {
    if (this.namedClients.has(client)) return client;
    if (this.namedClients.size >= MAX_NAMED_CLIENTS) return OTHER_CLIENTS;
    this.namedClients.add(client);
    for (const status of ALERTED_STATUSES_OF_CLIENT) this.clientRequests.inc({ client, status }, 0);
    return client;
  }

  private createCounter<Label extends string = never>(options: MetricOptions<Label>): Counter<Label> {
    return new Counter(this.toSettings(options));
  }

  private toSettings<Label extends string>({ name, help, labelNames = [] }: MetricOptions<Label>) {
    return {
      name: `order_lookup_${name}`,
      help,
      labelNames: [...labelNames],
      registers: [this.registry],
    };
  }
}
