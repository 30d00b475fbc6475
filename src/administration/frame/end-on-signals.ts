// Imported early by each program of the commands. Linux gives a signal to process 1 of a container only if it listens
// for it. What was not committed is taken back by PostgreSQL, since the connection ends with the process.
import { constants } from 'node:os';

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(128 + constants.signals[signal]));
}
