import type { Service } from './start-service.js';

/** Ends the process gracefully: with status 0 on a signal, with 1 on an uncaught error. A second signal ends it at once. */
export function endOn({ log, stop }: Pick<Service, 'log' | 'stop'>): void {
  let ending = false;
  const end = async (status: number, reason: string): Promise<void> => {
    if (ending) process.exit(status || 130);
    ending = log.isEnding = true;
    log.write('info', 'stopping', { reason });
    await stop(reason).catch((err: unknown) => log.write('error', 'stopping failed', { err }));
    log.write('info', 'stopped');
    await log.end();
    process.exit(status);
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(signal, () => void end(0, signal));
  for (const event of ['uncaughtException', 'unhandledRejection'] as const)
    process.on(event, (err: unknown) => {
      log.write('fatal', event, { err });
      if (!ending) void end(1, event);
    });
}
