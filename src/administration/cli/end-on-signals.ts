// migrate, keys, codes and doctor import this file first: as process 1 of a container, a program ignores each signal
// without a listener. A program may exit at any time, because PostgreSQL rolls back what is not committed.
import { constants } from 'node:os';

/** If a signal ends a program, a shell reports the status as this number plus the number of the signal. */
const SIGNALLED = 128;

for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => process.exit(SIGNALLED + constants.signals[signal]));
}
