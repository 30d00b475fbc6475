import type { Service } from './start-service.js';

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
const UNCAUGHT_ERRORS = ['uncaughtException', 'unhandledRejection'] as const;

/**
 * The time in which a second signal is taken for the same Ctrl-C: the terminal sends one signal, and npm sends another.
 */
export const SAME_SIGNAL_MS = 1_000;
/** The exit status after a signal that ends the process immediately, as a shell reports it after Ctrl-C. */
export const INTERRUPTED = 130;

type RunningService = Pick<Service, 'logger' | 'stop'>;

/**
 * Ends the process. After a signal the service is stopped in order, and the status is 0. A signal that comes a second
 * after the first one ends the process immediately. After an uncaught error the state of the process is unknown. So
 * only the log is flushed, and the status is 1.
 *
 * Process 1 of a container ignores each signal that has no listener. So call `listen` before the service is loaded.
 */
export class ProcessEnd {
  private service: RunningService | undefined;
  private isEnding = false;
  /** The time of the first signal, by the monotonic clock. */
  private signalledAtMs: number | undefined;

  listen(): void {
    for (const signal of SIGNALS) process.on(signal, () => void this.onSignal(signal));
    for (const event of UNCAUGHT_ERRORS) process.on(event, (error: unknown) => void this.onError(event, error));
  }

  /** Sets the service that a signal stops. Before this call there is nothing to stop. */
  watch(service: RunningService): void {
    this.service = service;
  }

  private async onSignal(signal: NodeJS.Signals): Promise<void> {
    const nowMs = performance.now();
    this.signalledAtMs ??= nowMs;
    if (nowMs > this.signalledAtMs + SAME_SIGNAL_MS) process.exit(INTERRUPTED);
    if (this.isEnding) return;
    this.isEnding = true;
    const isStopped = this.service === undefined || (await stopInOrder(this.service, signal));
    process.exit(isStopped ? 0 : 1);
  }

  private async onError(event: string, error: unknown): Promise<void> {
    try {
      if (this.service) await logFatal(this.service, event, error);
      else process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    } finally {
      process.exit(1); // also if the log fails
    }
  }
}

async function logFatal({ logger }: RunningService, event: string, error: unknown): Promise<void> {
  logger.fatal({ message: event, error });
  await logger.flush();
}

/** Returns false if the stop failed. The log then has the error. */
async function stopInOrder({ logger, stop }: RunningService, reason: string): Promise<boolean> {
  logger.log({ message: 'stopping', reason });
  try {
    await stop(reason);
    logger.log({ message: 'stopped' });
    return true;
  } catch (error) {
    logger.error({ message: 'stopping failed', error });
    return false;
  } finally {
    await logger.flush();
  }
}
