// JSON lines on standard output. Written without waiting and dropped beyond a bound, so that a reader that stalls never stalls the
// service: what was dropped is counted, and nothing queues behind a full pipe.
import type { LoggerService } from '@nestjs/common';
import { type Logger, destination, pino, stdTimeFunctions } from 'pino';
import { logLinesDropped } from './metrics.js';

const MAX_QUEUED_BYTES = 1024 * 1024;

export type Log = Logger;
/** What the log is injected by. */
export const LOG = Symbol('log');

/** The log of the process. Fields of a line: level (a word), time (ISO 8601), msg, and what the call adds. */
export function createLog(level: string): Log {
  const output = destination({ dest: 1, sync: false, maxLength: MAX_QUEUED_BYTES });
  output.on('drop', () => logLinesDropped.inc());
  output.on('error', () => logLinesDropped.inc()); // a reader that went away (EPIPE) is no reason to stop serving
  return pino(
    {
      level,
      base: undefined,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    output,
  );
}

/** Nest's own lines in the same form. What Nest says at its start is detail here. */
export function nestLogger(log: Log): LoggerService {
  const at =
    (level: 'debug' | 'warn' | 'error' | 'fatal') =>
    (message: unknown, ...rest: unknown[]): void =>
      log[level]({ context: rest.at(-1) }, String(message));
  return {
    log: at('debug'),
    debug: at('debug'),
    verbose: at('debug'),
    warn: at('warn'),
    error: at('error'),
    fatal: at('fatal'),
  };
}
