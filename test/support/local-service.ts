import { inspect } from 'node:util';
import { startService, type Service } from '../../src/bootstrap/start-service.js';
import { readConfiguration } from '../../src/configuration/read-configuration.js';
import { type LogEntry, ServiceLogger } from '../../src/telemetry/service-logger.js';
import { assertLocal } from './local-program.js';
import { ReachableService, ServiceLog } from './reachable-service.js';

const DEFAULTS = { HOST: '127.0.0.1', PORT: '0', MANAGEMENT_PORT: '0' };

/** Of the log: the methods of a logger, with the names of their levels. */
const LEVELS = {
  fatal: 'fatal',
  error: 'error',
  warn: 'warn',
  log: 'info',
  debug: 'debug',
  verbose: 'trace',
} as const;
const METHODS = Object.keys(LEVELS) as (keyof typeof LEVELS)[];

const logs = new WeakMap<ServiceLogger, ServiceLog>();

collectLogs();

/**
 * The service in the process of the test, which starts in a tenth of a second. What belongs to a process (signals,
 * standard output, memory, variables that Node.js or OpenTelemetry read) is tested with RunningService.
 */
export class LocalService extends ReachableService {
  private ending: Promise<void> | undefined;

  private constructor(private readonly service: Service) {
    super(findLog(service.logger));
  }

  /** Starts it on free ports of the loopback address. It need not be ready. */
  static async start(environment: Record<string, string>): Promise<LocalService> {
    assertLocal(environment);
    return new LocalService(await startService(readConfiguration({ ...DEFAULTS, ...environment })));
  }

  get url(): string {
    return this.service.url;
  }

  get managementUrl(): string {
    return this.service.managementUrl;
  }

  /** Ends it in order, as SIGTERM does: it answers on for DRAIN_SECONDS. */
  async end(): Promise<void> {
    this.ending ??= this.service.stop('SIGTERM');
    await this.ending;
  }

  async kill(): Promise<void> {
    this.ending ??= this.service.stop();
    await this.ending;
  }
}

/** What this logger was told since it was made. */
function findLog(logger: ServiceLogger): ServiceLog {
  const known = logs.get(logger);
  if (known) return known;
  const log = new ServiceLog();
  logs.set(logger, log);
  return log;
}

/** From now on no logger of this file writes to standard output, which is that of the test runner. */
function collectLogs(): void {
  for (const method of METHODS) {
    const level = LEVELS[method];
    ServiceLogger.prototype[method] = function collect(message: unknown): void {
      if (!this.isLevelEnabled(method)) return;
      const { message: msg, error, ...fields } = toEntry(message);
      const err = error === undefined ? {} : { err: inspect(error) };
      const time = new Date().toISOString();
      const text = JSON.stringify({ level, time, msg, ...fields, ...err });
      findLog(this).add([text]);
    };
  }
}

function toEntry(message: unknown): LogEntry {
  const isEntry = typeof message === 'object' && message !== null && 'message' in message;
  return isEntry ? (message as LogEntry) : { message: String(message) };
}
