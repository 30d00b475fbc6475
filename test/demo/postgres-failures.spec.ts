import { expect, it } from '@jest/globals';
import { findFailure, findStartRemedy } from '../../src/demo/postgres-failures.js';

const PROGRESS_OF_INITDB =
  'creating configuration files ... ok\nrunning bootstrap script ... 2026-11-29 10:30:58.989 UTC [25686] ';
const END_OF_INITDB =
  'child process exited with exit code 1\ninitdb: removing data directory "/clone/.data/postgres.unfinished"\n';

function byInitdb(...lines: string[]): string {
  return `${PROGRESS_OF_INITDB}${lines.join('\n')}\n${END_OF_INITDB}`;
}

// PostgreSQL's programs printed these texts on machines with these faults
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
])('the demo finds the fault and the remedy for a machine with $machine', (row) => {
  const fault = findFailure(row.printed);
  expect(fault).toBe(row.fault);
  expect(findStartRemedy(fault)).toContain(row.remedy);
});

it('the line that refuses a session during the start is not reported as the fault', () => {
  const printed =
    '[1] FATAL:  the database system is starting up\n[2] FATAL:  database files are incompatible with server\n';
  expect(findFailure(printed)).toBe('database files are incompatible with server');
});

it('an unknown fault has no remedy', () => {
  expect(findStartRemedy('database files are incompatible with server')).toBeUndefined();
});

it.each([
  {
    failures: ['could not look up effective user ID 12345: user does not exist'],
    remedy: 'PostgreSQL needs a user that has a name: add a user with this id (useradd), or run as another user.',
  },
  {
    failures: ['could not resize shared memory segment: No space left on device', 'could not create semaphores'],
    remedy: 'Give this machine more shared memory, or a container: docker run --shm-size=256m.',
  },
  {
    failures: [
      'No space left on device',
      'ENOSPC: write',
      'could not extend file "base/1": wrote only 4096 bytes',
      'Disk quota exceeded',
      'EDQUOT: write',
    ],
    remedy:
      'Free 200 MB on this disk, or use another disk: for the demo, clone the project there; for tests, set TMPDIR.',
  },
  {
    failures: [
      'data directory "/a" has invalid permissions',
      'data directory "/a" has wrong ownership',
      'Operation not permitted',
      'EPERM: chmod',
    ],
    remedy:
      'Is this a mount without modes and owners, such as a Windows folder in WSL or a network share? ' +
      'Use a clone in a folder of this system itself, such as one in your home.',
  },
  {
    failures: ['spawnSync /clone/initdb EACCES'],
    remedy: 'Is it on a mount on which no program may run (noexec)? Use a clone in another folder.',
  },
  {
    failures: ['spawnSync /clone/initdb ENOENT', "version `GLIBC_2.34' not found"],
    remedy:
      'PostgreSQL needs glibc, which Alpine lacks: use docker-compose up --build, or set DATABASE_URL and the OAUTH ' +
      'variables of .env.example.',
  },
  {
    failures: ['error while loading shared libraries: libicuuc.so.60'],
    remedy: 'Did npm leave scripts out (ignore-scripts)? npm rebuild --ignore-scripts=false',
  },
  {
    failures: ['connect ENETUNREACH 127.0.0.1', 'EADDRNOTAVAIL', 'could not bind: Cannot assign requested address'],
    remedy: 'This machine has no loopback network: ip link set lo up.',
  },
])('the remedy for $failures is: $remedy', ({ failures, remedy }) => {
  for (const failure of failures) expect([failure, findStartRemedy(failure)]).toEqual([failure, remedy]);
});
