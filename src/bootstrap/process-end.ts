import type { Service } from './start-service.js';

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
const UNCAUGHT_ERRORS = ['uncaughtException', 'unhandledRejection'] as const;

/** At Ctrl-C the terminal signals the service and npm, and npm passes its signal on: the second is no second wish. */
const SAME_SIGNAL_MS = 1_000;
/** What a shell reports for a process that a signal interrupted. */
const INTERRUPTED = 130;

type RunningService = Pick<Service, 'logger' | 'stop'>;

/**
 * Ends the process: with status 0 on a signal, with 1 on an uncaught error, and at once on another signal. As process 1
 * of a container it gets no signal at all before `listen` was called, so that is done before anything else is loaded.
 */
export class ProcessEnd {
  private service: RunningService | undefined;
  /** By the monotonic clock; undefined until the process ends. */
  private endingSinceMs: number | undefined;

  listen(): void {
    for (const signal of SIGNALS) process.on(signal, () => void this.onSignal(signal));
    for (const event of UNCAUGHT_ERRORS)
      process.on(event, (error: unknown) => void this.onError(event, error));
  }

  /** From now on there is something to end in order. */
  watch(service: RunningService): void {
    this.service = service;
  }

  private async onSignal(signal: NodeJS.Signals): Promise<void> {
    if (this.endingSinceMs === undefined) {
      await this.end(0, signal);
      return;
    }
    if (performance.now() > this.endingSinceMs + SAME_SIGNAL_MS) process.exit(INTERRUPTED);
  }

  private async onError(event: string, error: unknown): Promise<void> {
    if (!this.service) {
      process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
      process.exit(1);
    }
    this.service.logger.fatal({ message: event, error });
    if (this.endingSinceMs === undefined) await this.end(1, event);
  }

  private async end(status: number, reason: string): Promise<void> {
    this.endingSinceMs = performance.now();
    if (this.service) await stopInOrder(this.service, reason);
    process.exit(status);
  }
}

async function stopInOrder({ logger, stop }: RunningService, reason: string): Promise<void> {
  logger.log({ message: 'stopping', reason });
  try {
    await stop(reason);
  } catch (error) {
    logger.error({ message: 'stopping failed', error });
  }
  logger.log({ message: 'stopped' });
  await logger.flush();
}
