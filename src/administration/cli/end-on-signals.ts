// Imported first by each command. As process 1 of a container a program gets no signal that it does not listen for, so
// it could only be killed. PostgreSQL rolls back what is not committed.
import { constants } from 'node:os';

/** The status of a program that a signal ended, as a shell reports it, is this number plus the number of the signal. */
const SIGNALLED = 128;

for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => process.exit(SIGNALLED + constants.signals[signal]));
}
