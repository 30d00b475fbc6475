import type { Service } from './start-service.js';

/** Ends the process gracefully: with status 0 on a signal, with 1 on an uncaught error. A second signal ends it at once. */
export function endOn({ logger, stop }: Pick<Service, 'logger' | 'stop'>): void {
  let ending = false;
  const end = async (status: number, reason: string): Promise<void> => {
    if (ending) process.exit(status || 130);
    ending = true;
    logger.log({ message: 'stopping', reason });
    await stop(reason).catch((error: unknown) => {
      logger.error({ message: 'stopping failed', error });
    });
    logger.log({ message: 'stopped' });
    await logger.flush();
    process.exit(status);
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(signal, () => void end(0, signal));
  for (const event of ['uncaughtException', 'unhandledRejection'] as const)
    process.on(event, (error: unknown) => {
      logger.fatal({ message: event, error });
      if (!ending) void end(1, event);
    });
}
