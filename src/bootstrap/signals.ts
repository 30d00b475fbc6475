import { setTimeout as pause } from 'node:timers/promises';
import type { Log } from '../telemetry/log.js';

/** Something that can be stopped gracefully. */
interface Stoppable {
  stop(reason: string): Promise<void>;
}

/** How long the end waits, at most, for a stalled reader to take the last log lines. */
const FLUSH_MS = 500;

/**
 * Ends the process: gracefully with status 0 on SIGTERM, SIGINT or SIGHUP; at once on a second signal; gracefully with status 1 on an uncaught
 * error.
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
