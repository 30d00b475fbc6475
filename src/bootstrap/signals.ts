import { setTimeout as pause } from 'node:timers/promises';
import type { Log } from '../telemetry/log.js';

/** What can be stopped in order. */
interface Stoppable {
  stop(reason: string): Promise<void>;
}

/** Longest that the last log lines may take to a reader that stalls. */
const FLUSH_MS = 500;

/**
 * Ends the process: on SIGTERM, SIGINT or SIGHUP in order and with status 0, on a second signal at once, on an error that nobody caught
 * in order and with status 1.
 */
export function endOn(service: Stoppable, log: Log): void {
  let ending = false;
  const end = (status: number, reason: string): void => {
    if (ending) process.exit(status || 130);
    ending = true;
    log.info({ reason }, 'stopping');
    void service
      .stop(reason)
      .catch((error: unknown) => log.error({ err: error }, 'stopping failed'))
      .then(() => log.info('stopped'))
      .then(() =>
        Promise.race([new Promise<void>((resolve) => log.flush(() => resolve())), pause(FLUSH_MS)]),
      )
      .then(() => process.exit(status));
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(signal, () => end(0, signal));
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      log.fatal({ err: error }, event);
      if (!ending) end(1, event);
    });
  }
}
