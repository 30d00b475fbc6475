// The metrics of the service. No label holds a key, a token, a subject or free text: operations are route patterns, reasons are fixed words.
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client';
import { AnswerCounter, DurationHistogram } from './answer-metrics.js';
import { version } from './version.js';

/** How many clients the metric names: each takes one series for each status. */
const MOST_CLIENTS = 1_000;
const BY_CLIENT =
  'Answers by the client of the API key: 1,000 clients have names, the rest are other';
const BY_LIMIT =
  'Connections closed because of a limit: connections (of the process) or waiting-requests';
const BY_RESULT = 'Readings: loaded, refused (cannot be served) or failed';
const UNRECORDED = 'Changes that were found without a stamp: somebody had switched triggers off';

@Injectable()
export class Metrics implements OnModuleInit {
  readonly registry = new Registry();
  private readonly answers = new AnswerCounter(
    this.of('http_requests_total', 'Answers', 'operation', 'status'),
  );
  private readonly clientAnswers = new AnswerCounter(
    this.of('client_requests_total', BY_CLIENT, 'client', 'status'),
  );
  private readonly durations = new DurationHistogram(
    this.of('http_request_duration_seconds', 'Time to answer a request'),
  );
  readonly credentialsRefused = new AnswerCounter(
    this.of('credentials_refused_total', 'Credentials refused', 'credential', 'reason'),
  );
  readonly connectionsRefused = this.counter('connections_refused_total', BY_LIMIT, 'limit');
  readonly snapshotReloads = this.counter('snapshot_reloads_total', BY_RESULT, 'topic', 'result');
  readonly lastGoodWrites = this.counter('last_good_writes_total', 'Writes of the file', 'result');
  readonly unrecordedChanges = this.counter('unrecorded_changes_total', UNRECORDED, 'topic');
  readonly triggerFaults = this.gauge('trigger_faults', 'Objects not as the migrations made them');
  readonly momentsSwitched = this.counter('moments_switched_total', 'Moments that have come');
  readonly databaseUp = this.gauge('database_up', '1 while the database answers');
  readonly tokensVerified = this.counter('tokens_verified_total', 'Signatures that were verified');
  readonly logLinesDropped = this.counter('log_lines_dropped_total', 'Lines lost to a slow reader');

  onModuleInit(): void {
    const info = this.gauge('build_info', 'Always 1, with the version of the service', 'version');
    info.set({ version }, 1);
    // The delay of the event loop is sampled by a timer of this many milliseconds: a shorter one costs an idle process 0.3 % of a core
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: 20 });
  }

  /** @param operation the pattern of the route: one of a fixed set */
  countRequest(operation: string, status: number, seconds: number, client?: string): void {
    this.answers.count(operation, status);
    this.durations.observe(operation, seconds);
    if (client !== undefined) this.clientAnswers.count(client, status, MOST_CLIENTS);
  }

  /** Makes a gauge whose value is looked up on each scrape: `collect` returns or sets it. */
  measure<Label extends string = never>(
    [name, help, ...labels]: [name: string, help: string, ...labels: Label[]],
    collect: (gauge: Gauge<Label>) => number | void,
  ): void {
    void new Gauge({
      ...this.of(name, help, ...labels),
      collect() {
        const value = collect(this);
        if (value !== undefined) this.set(value);
      },
    });
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
