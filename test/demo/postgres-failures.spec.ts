import { expect, it } from '@jest/globals';
import { findFailure, findStartRemedy } from '../../src/demo/postgres-failures.js';

const PROGRESS_OF_INITDB =
  'creating configuration files ... ok\nrunning bootstrap script ... 2026-11-29 10:30:58.989 UTC [25686] ';
const END_OF_INITDB =
  'child process exited with exit code 1\ninitdb: removing data directory "/clone/.data/postgres.unfinished"\n';

function byInitdb(...lines: string[]): string {
  return `${PROGRESS_OF_INITDB}${lines.join('\n')}\n${END_OF_INITDB}`;
}

// The programs printed these texts on machines with these faults
it.each([
  {
    machine: 'a user id without a name',
    printed: 'initdb: error: could not look up effective user ID 12345: user does not exist\n',
    fault: 'could not look up effective user ID 12345: user does not exist',
    remedy: 'useradd',
  },
  {
    machine: 'a full disk',
    printed: byInitdb(
      'FATAL:  could not extend file "base/1/2691": wrote only 4096 of 8192 bytes at block 9',
      '2026-11-29 10:30:58.989 UTC [25686] PANIC:  cannot abort transaction 1, it was already committed',
    ),
    fault: 'could not extend file "base/1/2691": wrote only 4096 of 8192 bytes at block 9',
    remedy: 'on this disk',
  },
  {
    machine: 'a mount without modes',
    printed: byInitdb(
      'FATAL:  data directory "/clone/.data/postgres" has invalid permissions',
      '2026-11-29 10:30:58.989 UTC [25686] DETAIL:  Permissions should be u=rwx (0700) or u=rwx,g=rx (0750).',
    ),
    fault: 'data directory "/clone/.data/postgres" has invalid permissions',
    remedy: 'without modes and owners',
  },
  {
    machine: 'little shared memory',
    printed:
      PROGRESS_OF_INITDB +
      'FATAL:  could not resize shared memory segment "/PostgreSQL.1" to 1048576 bytes: No space left on device\n',
    fault: 'could not resize shared memory segment "/PostgreSQL.1" to 1048576 bytes: No space left on device',
    remedy: '--shm-size',
  },
  {
    machine: 'a session that came too early, and no known remedy',
    printed:
      '[1] FATAL:  the database system is starting up\n[2] FATAL:  database files are incompatible with server\n',
    fault: 'database files are incompatible with server',
    remedy: undefined,
  },
])('the demo finds the fault and the remedy for a machine with $machine', (row) => {
  const fault = findFailure(row.printed);
  expect(fault).toBe(row.fault);
  const remedy = findStartRemedy(fault);
  if (row.remedy === undefined) expect(remedy).toBeUndefined();
  else expect(remedy).toContain(row.remedy);
});
