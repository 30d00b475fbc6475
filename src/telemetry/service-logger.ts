import { setTimeout as pause } from 'node:timers/promises';
import { inspect, types } from 'node:util';
import { Inject, Injectable, type LogLevel, type LoggerService, Optional } from '@nestjs/common';
import { pino } from 'pino';
import { Configuration } from '../configuration/configuration.js';
import { Metrics } from './metrics.js';

/** The bytes that may wait while the reader of the log stalls. Further lines are dropped and counted. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** The longest time for which `flush` waits for a reader that stalls. */
const FLUSH_TIMEOUT_MS = 500;
/** The contexts in which Nest logs one line for each module and route at the start. Such lines get the level debug. */
const NEST_START_CONTEXTS = new Set([
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
]);
const PINO_LEVELS = {
  verbose: 'trace',
  debug: 'debug',
  log: 'info',
  warn: 'warn',
  error: 'error',
  fatal: 'fatal',
} as const satisfies Record<LogLevel, pino.Level>;

/** The destination of log lines: standard output, or an object of a test. */
export interface LogOutput {
  write(line: string): boolean;
  flush(onFlushed: () => void): void;
  destroy(): void;
  on(event: 'drop', listener: () => void): unknown;
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown;
}
/** Nest's injection token for a LogOutput. */
export const LOG_OUTPUT = Symbol('LOG_OUTPUT');

/** A line of the log. Fields that are undefined are left out. */
export interface LogEntry {
  readonly message: string;
  /** The value that was thrown. The line contains it as the text `err`, with its stack and its causes. */
  readonly error?: unknown;
  readonly [field: string]: unknown;
}

interface NestParameters {
  readonly context?: string | undefined;
  readonly stack?: string | undefined;
  /** All other parameters, such as further messages. */
  readonly details: readonly unknown[];
}

/**
 * The log never blocks the process: lines that nobody reads are dropped and counted. The first parameter of each method
 * is a text, an error, or a LogEntry. Further parameters are those of Nest's LoggerService.
 */
@Injectable()
export class ServiceLogger implements LoggerService {
  private readonly pino: pino.Logger;
  private isReaderGone = false;

  constructor(
    { LOG_LEVEL }: Configuration,
    private readonly metrics: Metrics,
    @Optional() @Inject(LOG_OUTPUT) private readonly output: LogOutput = openStandardOutput(),
  ) {
    const options: pino.LoggerOptions = {
      level: LOG_LEVEL.toLowerCase(),
      base: null, // no process id and no host name, because collectors add both
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    };
    // pino must not get `output` itself: after each fatal line, pino would flush `output` synchronously
    this.pino = pino(options, { write: (line) => this.writeLine(line) });
    this.output.on('drop', () => this.metrics.logLinesDropped.inc());
    this.output.on('error', (error) => {
      if (error.code === 'EPIPE') this.isReaderGone = true;
    });
    // At the exit, `pino.destination` writes the waiting lines synchronously. If their reader stalls, the process would
    // never end. So this listener comes first: after `destroy`, no line waits
    process.prependOnceListener('exit', () => this.output.destroy());
  }

  log(message: unknown, ...parameters: unknown[]): void {
    const { context, details } = splitContext(parameters);
    const isNestStart = context !== undefined && NEST_START_CONTEXTS.has(context);
    this.write(isNestStart ? 'debug' : 'log', message, { context, details });
  }

  verbose(message: unknown, ...parameters: unknown[]): void {
    this.write('verbose', message, splitContext(parameters));
  }

  debug(message: unknown, ...parameters: unknown[]): void {
    this.write('debug', message, splitContext(parameters));
  }

  warn(message: unknown, ...parameters: unknown[]): void {
    this.write('warn', message, splitContext(parameters));
  }

  error(message: unknown, ...parameters: unknown[]): void {
    this.write('error', message, splitStack(parameters));
  }

  fatal(message: unknown, ...parameters: unknown[]): void {
    this.write('fatal', message, splitStack(parameters));
  }

  isLevelEnabled(level: LogLevel): boolean {
    return this.pino.isLevelEnabled(PINO_LEVELS[level]);
  }

  /**
   * Waits until the reader has taken all lines, or until FLUSH_TIMEOUT_MS has passed. Call `flush` before
   * `process.exit`, which drops the lines that still wait.
   */
  async flush(): Promise<void> {
    const taken = new Promise<void>((resolve) => {
      this.output.flush(() => resolve());
    });
    await Promise.race([taken, pause(FLUSH_TIMEOUT_MS, undefined, { ref: false })]);
  }

  private write(level: LogLevel, message: unknown, { context, stack, details }: NestParameters): void {
    if (!this.isLevelEnabled(level)) return;
    const { message: text, error = findError(details), ...fields } = toLogEntry(message);
    const otherDetails = details.filter((detail) => detail !== undefined && detail !== error).map(toJsonValue);
    const line = {
      err: error === undefined ? stack : inspect(error),
      context,
      details: otherDetails.length > 0 ? otherDetails : undefined,
      ...fields,
    };
    this.pino[PINO_LEVELS[level]](line, text);
  }

  private writeLine(line: string): void {
    if (this.isReaderGone) this.metrics.logLinesDropped.inc();
    else this.output.write(line);
  }
}

function openStandardOutput(): LogOutput {
  return pino.destination({
    fd: 1,
    sync: false,
    minLength: 1, // with 0, `flush` would not wait
    maxLength: MAX_WAITING_BYTES,
  });
}

/** Takes the last parameter as Nest's context, if this parameter is a text. */
function splitContext(parameters: readonly unknown[]): NestParameters {
  const last = parameters.at(-1);
  if (typeof last !== 'string') return { details: parameters };
  return { context: last, details: parameters.slice(0, -1) };
}

/** Nest's parameters are (…, stack, context) or (stack). So a single text is a stack only if it looks like one. */
function splitStack(parameters: readonly unknown[]): NestParameters {
  const [first] = parameters;
  if (parameters.length === 1 && isStack(first)) return { stack: first, details: [] };
  const { context, details } = splitContext(parameters);
  const last = details.at(-1);
  if (typeof last !== 'string') return { context, details };
  return { context, stack: last, details: details.slice(0, -1) };
}

function isStack(parameter: unknown): parameter is string {
  return typeof parameter === 'string' && /\n[ \t]+at .+:\d+:\d+/.test(parameter); // such as "Error\n  at run.js:1:2"
}

/** Returns an error as a text, because JSON.stringify would write it as {}. Returns other values unchanged. */
function toJsonValue(detail: unknown): unknown {
  return types.isNativeError(detail) ? inspect(detail) : detail;
}

function findError(details: readonly unknown[]): unknown {
  return details.find(types.isNativeError);
}

function toLogEntry(message: unknown): LogEntry {
  if (types.isNativeError(message)) return { message: message.message, error: message };
  if (isLogEntry(message)) return message;
  return { message: typeof message === 'string' ? message : inspect(message) };
}

function isLogEntry(message: unknown): message is LogEntry {
  if (typeof message !== 'object' || message === null) return false;
  return 'message' in message && typeof message.message === 'string';
}
