// Imported first by each command. As process 1 of a container a program gets no signal that it does not listen for, so
// it could only be killed. PostgreSQL rolls back what is not committed.
import { constants } from 'node:os';

/** What a shell reports for a program that a signal ended is this and the number of the signal. */
const SIGNALLED = 128;

for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => process.exit(SIGNALLED + constants.signals[signal]));
}
