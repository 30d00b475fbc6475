import { cpuSeconds, peakMebibytes, residentMebibytes } from '../support/linux-process.js';
import { PATHS } from '../support/paths.js';
import { RunningService, until } from '../support/service.js';
import { World } from '../support/world.js';

const PATIENCE = { timeoutMs: 600_000, everyMs: 50 };

/** What a replica with so many codes of 100 bytes needs. Nothing is broken here but the calm. */
export async function capacity(codes = 20_000): Promise<string> {
  const stage = await World.apart(0);
  const { database, issuer, credentials } = stage;
  const headers = {
    'Api-Key': credentials.key,
    Authorization: `Bearer ${credentials.token}`,
    'Accept-Encoding': 'identity',
  };
  const lines: string[] = [];
  const note = (line: string): void => {
    lines.push(line);
    console.error(line); // for a run that is broken off
  };
  const timed = async (what: string, work: () => Promise<unknown>): Promise<void> => {
    const startedAt = performance.now();
    await work();
    note(`${what}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  };
  let replica: RunningService | undefined;
  try {
    await database.query(
      `insert into communication_code select 'TYPE-' || n % 100, 'CODE-' || n, rpad('Description of code ' || n, 50, '.') from generate_series(1, ${codes}) as n`,
    );
    await timed('start to ready', async () => {
      replica = await RunningService.start({
        DATABASE_URL: database.urlOf('order_lookup_service'),
        ...issuer.environment,
      });
      const { managementUrl } = replica;
      await until(async () => (await fetch(`${managementUrl}/health/ready`)).ok, PATIENCE);
    });
    const { pid, url } = replica as unknown as RunningService;
    const tag = async (): Promise<string | null> =>
      (await fetch(url + PATHS.communicationCodes, { method: 'HEAD', headers })).headers.get(
        'etag',
      );
    note(
      `resident memory after it: ${Math.round(residentMebibytes(pid))} MiB, at most ${Math.round(peakMebibytes(pid))} MiB`,
    );
    const rows = await database.query<{ count: string }>(
      `select count(*) from pg_stat_activity where usename = 'order_lookup_service'`,
    );
    note(`sessions: ${rows[0]?.count}`);
    for (const coding of ['identity', 'gzip', 'br']) {
      const before = cpuSeconds(pid);
      const accept = { method: 'HEAD', headers: { ...headers, 'Accept-Encoding': coding } };
      let sent = new Headers();
      await until(async () => {
        sent = (await fetch(url + PATHS.communicationCodes, accept)).headers;
        return (sent.get('content-encoding') ?? 'identity') === coding;
      }, PATIENCE);
      const milliseconds = Math.round((cpuSeconds(pid) - before) * 1000);
      note(
        `the whole list in ${coding}: ${sent.get('content-length')} bytes, ${milliseconds} ms of CPU time until it is there`,
      );
    }
    for (const [what, where] of [
      ['one code', `where code = 'CODE-1'`],
      ['every code', ''],
    ] as const) {
      const before = await tag();
      await database.query(
        `update communication_code set description = description || '!' ${where}`,
      );
      await timed(`${what} changed, from the commit to the new answer`, () =>
        until(async () => (await tag()) !== before, PATIENCE),
      );
    }
    note(
      `resident memory after that: ${Math.round(residentMebibytes(pid))} MiB, at most ${Math.round(peakMebibytes(pid))} MiB`,
    );
    return lines.join('\n');
  } finally {
    await replica?.kill();
    await stage.close();
  }
}
