import { types } from 'node:util';
import type { Service } from './start-service.js';

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
const UNCAUGHT_ERRORS = ['uncaughtException', 'unhandledRejection'] as const;

/** Signals within this time come from the same Ctrl-C: the terminal sends one signal, and npm sends another. */
export const SAME_SIGNAL_MS = 1_000;
/** The exit status after a second Ctrl-C, as shells report it. */
export const INTERRUPTED = 130;

type RunningService = Pick<Service, 'logger' | 'stop'>;
type EndingProcess = Pick<NodeJS.Process, 'on' | 'exit' | 'stderr'>;

/** Ends the process after a signal, or after an uncaught error. */
export class ProcessEnd {
  private service: RunningService | undefined;
  private isEnding = false;
  private firstSignalAtMonotonicMs: number | undefined;

  constructor(private readonly process: EndingProcess = globalThis.process) {}

  /** Process 1 of a container ignores signals without a listener. So call `listen` before the service is loaded. */
  listen(): void {
    for (const signal of SIGNALS) this.process.on(signal, () => void this.onSignal(signal));
    for (const event of UNCAUGHT_ERRORS) this.process.on(event, (error: unknown) => void this.onError(event, error));
  }

  /** Sets the service that a signal stops. */
  watch(service: RunningService): void {
    this.service = service;
  }

  private async onSignal(signal: NodeJS.Signals): Promise<void> {
    const nowMs = performance.now();
    this.firstSignalAtMonotonicMs ??= nowMs;
    if (nowMs > this.firstSignalAtMonotonicMs + SAME_SIGNAL_MS) this.process.exit(INTERRUPTED);
    if (this.isEnding) return;
    this.isEnding = true;
    const isStopped = this.service === undefined || (await stopService(this.service, signal));
    this.process.exit(isStopped ? 0 : 1);
  }

  /** After an uncaught error, nobody knows the state of the process. So only the log is flushed. */
  private async onError(event: string, error: unknown): Promise<void> {
    try {
      if (this.service) await logFatal(this.service, event, error);
      else this.process.stderr.write(`${types.isNativeError(error) ? error.stack : String(error)}\n`);
    } finally {
      this.process.exit(1); // also if the log fails
    }
  }
}

async function logFatal({ logger }: RunningService, event: string, error: unknown): Promise<void> {
  logger.fatal({ message: event, error });
  await logger.flush();
}

/** Returns false if the stop failed. */
async function stopService({ logger, stop }: RunningService, reason: string): Promise<boolean> {
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
