import { setTimeout as pause } from 'node:timers/promises';
import type { Service } from './start-service.js';

/** How long the end waits, at most, for a stalled reader to take the last log lines. */
const FLUSH_MS = 500;

/** Ends the process gracefully: with status 0 on a signal, with 1 on an uncaught error. A second signal ends it at once. */
export function endOn({ log, stop }: Pick<Service, 'log' | 'stop'>): void {
  let ending = false;
  const end = async (status: number, reason: string): Promise<void> => {
    if (ending) process.exit(status || 130);
    ending = true;
    log.info({ reason }, 'stopping');
    await stop(reason).catch((error: unknown) => log.error({ err: error }, 'stopping failed'));
    log.info('stopped');
    await Promise.race([new Promise((resolve) => log.flush(resolve)), pause(FLUSH_MS)]);
    process.exit(status);
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(signal, () => void end(0, signal));
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      log.fatal({ err: error }, event);
      if (!ending) void end(1, event);
    });
  }
}
