import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import { Injectable, type LogLevel, type LoggerService } from '@nestjs/common';
import { pino } from 'pino';
import { Configuration } from '../configuration/configuration.js';
import { Metrics } from './metrics.js';

/** The most bytes that wait for a reader that stalls. Further lines are dropped and counted. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** How long the end of the process waits for a reader that stalls. */
const FLUSH_TIMEOUT_MS = 500;
/** Parts of Nest that say a line for each module and route at the start. These lines get the level debug. */
const NEST_START_CONTEXTS = new Set([
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
]);
/** pino's levels, by the names of Nest's. */
const PINO_LEVELS = {
  verbose: 'trace',
  debug: 'debug',
  log: 'info',
  warn: 'warn',
  error: 'error',
  fatal: 'fatal',
} as const satisfies Record<LogLevel, pino.Level>;
/** A line of the log. Fields that are undefined are left out. */
export interface LogEntry {
  readonly message: string;
  /** The value that was thrown. The line has the value as the text `err`, with its stack and its causes. */
  readonly error?: unknown;
  readonly [field: string]: unknown;
}

/**
 * The log of the process: JSON lines on standard output. Its methods take a LogEntry, or what Nest's own Logger passes: a
 * message, then details such as a stack, and last the context.
 *
 * A reader that stalls or is gone never blocks the process: lines that are not taken are dropped and counted.
 */
@Injectable()
export class ServiceLogger implements LoggerService {
  private readonly output = pino.destination({
    fd: 1,
    sync: false,
    minLength: 1, // with 0, flush() of the output waits for nothing
    maxLength: MAX_WAITING_BYTES,
  });
  private readonly pino: pino.Logger;
  private isReaderGone = false;

  constructor(
    { LOG_LEVEL }: Configuration,
    private readonly metrics: Metrics,
  ) {
    const options: pino.LoggerOptions = {
      level: LOG_LEVEL.toLowerCase(),
      base: null, // without process id and host name, which collectors add themselves
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: (error: unknown) => inspect(error) },
    };
    // pino gets a plain stream: it would flush the output itself synchronously after a fatal line
    this.pino = pino(options, { write: (line) => this.writeLine(line) });
    this.output.on('drop', () => this.metrics.logLinesDropped.inc());
    this.output.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') this.isReaderGone = true;
    });
    // Runs before pino's own listener, which would write the rest synchronously and so wait for ever for a reader that
    // stalls. There is nothing left to write for it when the output is destroyed
    process.prependOnceListener('exit', () => this.output.destroy());
  }

  log(message: unknown, ...parameters: unknown[]): void {
    const isNestStart = NEST_START_CONTEXTS.has(String(parameters.at(-1)));
    this.write(isNestStart ? 'debug' : 'log', message, parameters);
  }

  verbose(message: unknown, ...parameters: unknown[]): void {
    this.write('verbose', message, parameters);
  }

  debug(message: unknown, ...parameters: unknown[]): void {
    this.write('debug', message, parameters);
  }

  warn(message: unknown, ...parameters: unknown[]): void {
    this.write('warn', message, parameters);
  }

  error(message: unknown, ...parameters: unknown[]): void {
    this.write('error', message, parameters);
  }

  fatal(message: unknown, ...parameters: unknown[]): void {
    this.write('fatal', message, parameters);
  }

  isLevelEnabled(level: LogLevel): boolean {
    return this.pino.isLevelEnabled(PINO_LEVELS[level]);
  }

  /**
   * Waits until the reader has taken all lines, for a short time at most. Call it before `process.exit`, which drops
   * the lines that wait.
   */
  async flush(): Promise<void> {
    const taken = new Promise<void>((resolve) => {
      this.output.flush(() => resolve());
    });
    await Promise.race([taken, pause(FLUSH_TIMEOUT_MS, undefined, { ref: false })]);
  }

  private write(level: LogLevel, message: unknown, parameters: readonly unknown[]): void {
    if (!this.isLevelEnabled(level)) return;
    const { message: text, error, ...fields } = toEntry(message);
    const details = parameters.slice(0, -1).filter((detail) => detail !== undefined); // such as the stack of an error
    const ofNest = { context: parameters.at(-1), details: details.length > 0 ? details : undefined };
    this.pino[PINO_LEVELS[level]]({ err: error, ...ofNest, ...fields }, text);
  }

  private writeLine(line: string): void {
    if (this.isReaderGone) this.metrics.logLinesDropped.inc();
    else this.output.write(line);
  }
}

function toEntry(message: unknown): LogEntry {
  if (message instanceof Error) return { message: message.message, error: message };
  if (isEntry(message)) return message;
  return { message: typeof message === 'string' ? message : inspect(message) };
}

function isEntry(message: unknown): message is LogEntry {
  if (typeof message !== 'object' || message === null) return false;
  return 'message' in message && typeof message.message === 'string';
}
