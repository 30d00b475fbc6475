// What the services in the process of the test log. Their own output would be that of the test runner.
import { inspect } from 'node:util';
import { type LogEntry, ServiceLogger } from '../../src/telemetry/service-logger.js';
import { ServiceLog } from './service-log.js';

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

/** What this logger was told since it was made. */
export function logOf(logger: ServiceLogger): ServiceLog {
  const known = logs.get(logger);
  if (known) return known;
  const log = new ServiceLog();
  logs.set(logger, log);
  return log;
}

/** From now on no logger of this file writes to standard output. */
export function collectLogs(): void {
  for (const method of METHODS) {
    const level = LEVELS[method];
    ServiceLogger.prototype[method] = function collect(message: unknown): void {
      if (!this.isLevelEnabled(method)) return;
      const { message: msg, error, ...fields } = toEntry(message);
      const err = error === undefined ? {} : { err: inspect(error) };
      const time = new Date().toISOString();
      const text = JSON.stringify({ level, time, msg, ...fields, ...err });
      logOf(this).addTexts([text]);
    };
  }
}

function toEntry(message: unknown): LogEntry {
  const isEntry = typeof message === 'object' && message !== null && 'message' in message;
  return isEntry ? (message as LogEntry) : { message: String(message) };
}
