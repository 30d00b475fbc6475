// migrate, keys, codes and doctor import this file first. As process 1 of a container, a program gets only the signals
// for which it listens: without this file it could only be killed. PostgreSQL rolls back what is not committed.
import { constants } from 'node:os';

/** If a signal ends a program, a shell reports the status as this number plus the number of the signal. */
const SIGNALLED = 128;

for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => process.exit(SIGNALLED + constants.signals[signal]));
}
