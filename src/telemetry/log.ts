// JSON lines on standard output, written without waiting. A reader that stalls does not stall the service: further lines are dropped and counted.
import type { LoggerService } from '@nestjs/common';
import { type Logger, destination, pino, stdTimeFunctions } from 'pino';
import type { Metrics } from './metrics.js';

const MAX_QUEUED_BYTES = 1024 * 1024;

export type Log = Logger;
export const LOG = Symbol('log');

/** The log of the process. Fields of a line: level (a word), time (ISO 8601), msg, and what the call adds. */
export function createLog(level: string, metrics?: Pick<Metrics, 'logLinesDropped'>): Log {
  const output = destination({ dest: 1, sync: false, maxLength: MAX_QUEUED_BYTES });
  output.on('drop', () => metrics?.logLinesDropped.inc());
  output.on('error', () => metrics?.logLinesDropped.inc()); // a reader that closed the pipe (EPIPE) must not end the service
  return pino(
    {
      level: level.toLowerCase(),
      base: undefined,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    output,
  );
}

/** Nest's own log lines in the same form. Its lines at the start get the level debug. */
export function nestLogger(log: Log): LoggerService {
  const at =
    (level: 'debug' | 'warn' | 'error' | 'fatal') =>
    (message: unknown, ...rest: unknown[]): void =>
      log[level]({ context: rest.at(-1) }, String(message));
  const [debug, warn, error, fatal] = [at('debug'), at('warn'), at('error'), at('fatal')];
  return { log: debug, debug, verbose: debug, warn, error, fatal };
}
