/** Matches `FATAL:  could not create lock file`, but not `FATAL:  the database system is starting up`. */
const SERVER_FAILURE = /\b(?:FATAL|PANIC): {2}(?!the database system is)/;
/** Matches `initdb: error: invalid locale name`, but not `initdb: removing data directory`. */
const PROGRAM_FAILURE = /^(?:initdb|pg_ctl): (?:error: )?(?!removing)/;
const FAILURE = new RegExp(`(?:${SERVER_FAILURE.source}|${PROGRAM_FAILURE.source})(.*)`, 'm');

/** The first match is used. Keep shared memory before the disk: both faults say "No space left on device". */
const REMEDIES: readonly (readonly [fault: RegExp, remedy: string])[] = [
  [
    /user ID \d+/, // such as: could not look up effective user ID 1234: user does not exist
    'PostgreSQL needs a user that has a name: add a user with this id (useradd), or run as another user.',
  ],
  [/shared memory|semaphore/, 'Give this machine more shared memory, or a container: docker run --shm-size=256m.'],
  [
    /no space|ENOSPC|could not extend|quota|EDQUOT/i,
    'Free 200 MB on this disk, or use another disk: for the demo, clone the project there; for tests, set TMPDIR.',
  ],
  [
    /permissions|ownership|not permitted|EPERM/,
    'Is this a mount without modes and owners, such as a Windows folder in WSL or a network share? ' +
      'Use a clone in a folder of this system itself, such as one in your home.',
  ],
  [/EACCES/, 'Is it on a mount on which no program may run (noexec)? Use a clone in another folder.'],
  [
    /ENOENT|GLIBC_/, // ENOENT: the loader of glibc is missing, so no program starts
    'PostgreSQL needs glibc, which Alpine lacks: use docker-compose up --build, or set DATABASE_URL and the OAUTH ' +
      'variables of .env.example.',
  ],
  [/shared librar/, 'Did npm leave scripts out (ignore-scripts)? npm rebuild --ignore-scripts=false'],
  [/ENETUNREACH|EADDRNOTAVAIL|Cannot assign/, 'This machine has no loopback network: ip link set lo up.'],
];

export function findStartRemedy(failure: string): string | undefined {
  return REMEDIES.find(([fault]) => fault.test(failure))?.[1];
}

/** Returns the first sentence in which a program of PostgreSQL says what is wrong, or else the last lines. */
export function findFailure(printed: string): string {
  return FAILURE.exec(printed)?.[1] ?? printed.trim().split('\n').slice(-3).join(' ');
}
