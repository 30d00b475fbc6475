import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import { Injectable, type LoggerService } from '@nestjs/common';
import { pino } from 'pino';
import { Configuration } from '../configuration/configuration.js';
import { Metrics } from './metrics.js';

/** How much may wait for a reader that stalls. Further lines are dropped and counted. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** How long the end of the process waits for a reader that stalls. */
const FLUSH_TIMEOUT_MS = 500;
/** What these say of each module and route at the start is for developers: it gets the level debug. */
const NEST_START_CONTEXTS = new Set([
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
]);

/** A line of the log. Fields that are undefined are left out. */
export interface LogEntry {
  readonly message: string;
  /** Whatever was thrown. The line has it as the text `err`, with its stack and its causes. */
  readonly error?: unknown;
  readonly [field: string]: unknown;
}

/**
 * The log of the process: JSON lines on standard output. A call takes a LogEntry, or what Nest's own loggers pass:
 * anything as the message, then details such as a stack, and last the context.
 *
 * A reader that stalls or is gone never blocks the process: lines that it does not take are dropped and counted.
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
    // Not the output itself, which pino would flush synchronously after a fatal line
    this.pino = pino(options, { write: (line) => this.writeLine(line) });
    this.output.on('drop', () => this.metrics.logLinesDropped.inc());
    this.output.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') this.isReaderGone = true;
    });
    // pino's own listener would write what is left synchronously, and wait for ever for a reader that stalls
    process.prependOnceListener('exit', () => this.output.destroy());
  }

  log(message: unknown, ...parameters: unknown[]): void {
    const isNestStart = NEST_START_CONTEXTS.has(String(parameters.at(-1)));
    this.write(isNestStart ? 'debug' : 'info', message, parameters);
  }

  verbose(message: unknown, ...parameters: unknown[]): void {
    this.write('trace', message, parameters);
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

  isLevelEnabled(level: pino.Level): boolean {
    return this.pino.isLevelEnabled(level);
  }

  /** Waits until the reader has taken all lines. Whoever ends the process calls it: `process.exit` drops the rest. */
  async flush(): Promise<void> {
    const taken = new Promise<void>((resolve) => {
      this.output.flush(() => resolve());
    });
    await Promise.race([taken, pause(FLUSH_TIMEOUT_MS, undefined, { ref: false })]);
  }

  private write(level: pino.Level, message: unknown, parameters: readonly unknown[]): void {
    if (!this.isLevelEnabled(level)) return;
    const { message: text, error, ...fields } = toEntry(message, parameters);
    this.pino[level]({ err: error, ...fields }, text);
  }

  private writeLine(line: string): void {
    if (this.isReaderGone) this.metrics.logLinesDropped.inc();
    else this.output.write(line);
  }
}

function toEntry(message: unknown, parameters: readonly unknown[]): LogEntry {
  const context = parameters.at(-1);
  if (isEntry(message)) return { context, ...message };
  const details = parameters.length > 1 ? parameters.slice(0, -1) : undefined;
  if (message instanceof Error)
    return { message: message.message, error: message, context, details };
  const text = typeof message === 'string' ? message : inspect(message);
  return { message: text, context, details };
}

function isEntry(message: unknown): message is LogEntry {
  if (typeof message !== 'object' || message === null || message instanceof Error) return false;
  return 'message' in message && typeof message.message === 'string';
}
