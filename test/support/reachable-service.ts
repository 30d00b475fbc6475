import { fetchReply } from './exchange.js';
import { until } from './until.js';
import { limitWait } from './waiting.js';

/**
 * The options of a request that opens its own connection. The management port closes an idle connection after a while:
 * a slow test would sometimes send its request at just that moment.
 */
const NEW_CONNECTION = { headers: { Connection: 'close' } };

/** The limit of a start, which usually takes a second. A service that is not ready by then never becomes ready. */
export const READY_LIMIT_MS = 120_000;

/** A service as its callers and operators see it, wherever it runs. */
export abstract class ReachableService {
  abstract get url(): string;
  abstract get managementUrl(): string;
  /** Ends the service as fast as possible. */
  abstract kill(): Promise<void>;

  protected constructor(protected readonly log = new ServiceLog()) {}

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** The lines of the log so far. */
  get lines(): readonly LogLine[] {
    return this.log.lines;
  }

  /** Resolves with the first line that fits. This line may have come before the call. */
  waitForLog(fits: (line: LogLine) => boolean): Promise<LogLine> {
    return this.log.waitFor(fits);
  }

  /** The whole output of the service so far. */
  get output(): string {
    return this.lines.map((line) => JSON.stringify(line)).join('\n');
  }

  async fetchReadiness(): Promise<{ readonly status: number; readonly text: string }> {
    return fetchReply(`${this.managementUrl}/health/ready`, NEW_CONNECTION);
  }

  /** Resolves when the service is ready. If the service does not become ready, the error has its reasons. */
  async waitUntilReady(): Promise<void> {
    let last = 'it gave no answer';
    const isReady = async (): Promise<boolean> => {
      const { status, text } = await this.fetchReadiness();
      last = `it answered ${status} ${text}`;
      return status === 200;
    };
    await until(isReady, { what: () => `the service says that it is ready (last: ${last})`, limitMs: READY_LIMIT_MS });
  }

  /** @param name one series with its labels, or the name of a metric: then the result is the sum of its series */
  async readMetric(name: string): Promise<number> {
    const { text } = await fetchReply(`${this.managementUrl}/metrics`, NEW_CONNECTION);
    const lines = text.split('\n');
    const series = lines.filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
    const values = series.map((line) => Number(line.slice(line.lastIndexOf(' ') + 1)));
    return values.reduce((sum, value) => sum + value, 0);
  }
}

interface LogLine {
  readonly level: string;
  /** The time in ISO 8601, in UTC. */
  readonly time: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** The log of a service. A test can look at its lines, or wait for one. */
export class ServiceLog {
  private readonly known: LogLine[] = [];
  private readonly unparsed: string[] = [];
  private readonly watchers = new Set<() => void>();

  /** Adds lines of JSON. They are parsed when somebody looks at them, because there may be very many. */
  add(texts: readonly string[]): void {
    this.unparsed.push(...texts);
    for (const look of this.watchers) look();
  }

  get lines(): readonly LogLine[] {
    for (const text of this.unparsed.splice(0)) this.known.push(JSON.parse(text) as LogLine);
    return this.known;
  }

  /** Resolves with the first line that fits. This line may have come before the call. */
  waitFor(fits: (line: LogLine) => boolean): Promise<LogLine> {
    const wait = (resolve: (line: LogLine) => void): void => {
      const look = (): void => {
        const line = this.lines.find(fits);
        if (!line) return;
        this.watchers.delete(look);
        resolve(line);
      };
      this.watchers.add(look);
      look();
    };
    return limitWait(`a line of the log: ${fits.toString()}`, () => new Promise(wait));
  }
}
