import type { Service } from './start-service.js';

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
const UNCAUGHT_ERRORS = ['uncaughtException', 'unhandledRejection'] as const;

/** The process gets Ctrl-C twice, from the terminal and from npm: a signal within this time counts as the same. */
export const SAME_SIGNAL_MS = 1_000;
/** The status that a shell reports after Ctrl-C, whichever signal came. */
export const INTERRUPTED = 130;

type RunningService = Pick<Service, 'logger' | 'stop'>;

/**
 * Ends the process: with status 0 on a signal, with 1 after an error that nobody caught. A signal that comes a second
 * after the first one ends it at once. Process 1 of a container gets no signal at all before it listens, so `listen` is
 * called before the service is loaded.
 */
export class ProcessEnd {
  private service: RunningService | undefined;
  private isEnding = false;
  private status = 0;
  /** When the first signal came, by the monotonic clock. */
  private signalledAtMs: number | undefined;

  listen(): void {
    for (const signal of SIGNALS) process.on(signal, () => void this.onSignal(signal));
    for (const event of UNCAUGHT_ERRORS) process.on(event, (error: unknown) => void this.onError(event, error));
  }

  /** Has the service stopped before the process ends. Until then there is nothing to stop. */
  watch(service: RunningService): void {
    this.service = service;
  }

  private async onSignal(signal: NodeJS.Signals): Promise<void> {
    const nowMs = performance.now();
    this.signalledAtMs ??= nowMs;
    if (nowMs > this.signalledAtMs + SAME_SIGNAL_MS) process.exit(INTERRUPTED);
    if (!this.isEnding) await this.end(signal);
  }

  private async onError(event: string, error: unknown): Promise<void> {
    this.status = 1;
    if (!this.service) {
      process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
      process.exit(1);
    }
    this.service.logger.fatal({ message: event, error });
    if (!this.isEnding) await this.end(event);
  }

  private async end(reason: string): Promise<void> {
    this.isEnding = true;
    try {
      if (this.service) await stopInOrder(this.service, reason);
    } catch {
      this.status = 1; // stopInOrder has logged the error, unless the log failed
    } finally {
      process.exit(this.status);
    }
  }
}

/** @throws the error of `stop`, after it was logged */
async function stopInOrder({ logger, stop }: RunningService, reason: string): Promise<void> {
  logger.log({ message: 'stopping', reason });
  try {
    await stop(reason);
    logger.log({ message: 'stopped' });
  } catch (error) {
    logger.error({ message: 'stopping failed', error });
    throw error;
  } finally {
    await logger.flush();
  }
}
