import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { residentMebibytes } from '../support/linux-process.js';
import { PATHS } from '../support/paths.js';
import { RunningService, until } from '../support/service.js';
import { Stage } from '../support/stage.js';

const PATIENCE = { timeoutMs: 300_000, everyMs: 20 };
const WRITES = 'order_lookup_last_good_writes_total';
const LAG = 'nodejs_eventloop_lag_max_seconds';

/** Writing and reading LAST_GOOD_FILE with so many codes of 100 bytes. */
export async function coldStartLarge(count = 1_000_000): Promise<string> {
  const stage = await Stage.set(0);
  const folder = await mkdtemp(join(tmpdir(), 'order-lookup-'));
  const file = join(folder, 'last-good');
  const { database, issuer, postgres, credentials } = stage;
  const headers = { 'Api-Key': credentials.key, Authorization: `Bearer ${credentials.token}` };
  const lines: string[] = [];
  let replica: RunningService | undefined;
  const start = (): Promise<RunningService> =>
    RunningService.start({
      ...issuer.environment,
      DATABASE_URL: database.urlOf('order_lookup_service'),
      LAST_GOOD_FILE: file,
    });
  const ask = (path: string, method = 'GET'): Promise<Response> =>
    fetch((replica?.url ?? '') + path, { method, headers });
  const tag = async (): Promise<string | null> =>
    (await ask(PATHS.communicationCodes, 'HEAD')).headers.get('etag');
  try {
    await database.query(
      `insert into communication_code select 'TYPE-' || n % 100, 'CODE-' || n, rpad('Description of code ' || n, 50, '.') from generate_series(1, ${count}) as n`,
    );
    replica = await start();
    const writer = replica;
    await until(async () => (await ask(PATHS.orderUpdate)).status === 200, PATIENCE);
    await until(async () => (await writer.metric(WRITES)) === 1, PATIENCE);
    const quiet: number[] = [];
    for (let second = 0; second < 5; second++) {
      await writer.metric(LAG); // begins a new measurement
      await pause(1_000);
      quiet.push(await writer.metric(LAG));
    }
    await database.query(
      `update communication_code set description = 'Changed' where code = 'CODE-1'`,
    );
    await writer.metric(LAG);
    const lags: number[] = [];
    await until(
      async () => {
        lags.push(await writer.metric(LAG));
        return (await writer.metric(WRITES)) === 2;
      },
      { ...PATIENCE, everyMs: 200 },
    );
    const milliseconds = (seconds: number[]): number => Math.round(1000 * Math.max(...seconds));
    lines.push(
      `${count} codes, a file of ${Math.round((await stat(file)).size / 1024 ** 2)} MiB; longest turn of the event loop while it was written and a change read: ${milliseconds(lags)} ms, without: ${milliseconds(quiet)} ms`,
    );
    const before = await tag();
    await postgres.stop();
    issuer.fault = 'down';
    await writer.kill();
    for (let round = 0; round < 3; round++) {
      const startedAt = performance.now();
      replica = await start();
      const listens = performance.now() - startedAt;
      await until(async () => (await ask(PATHS.orderUpdate)).status === 200, {
        ...PATIENCE,
        everyMs: 5,
      });
      const answers = performance.now() - startedAt;
      lines.push(
        `start without database and issuer: listens after ${Math.round(listens)} ms, first 200 after ${Math.round(answers)} ms; the tag of all codes ${(await tag()) === before ? 'as before' : 'IS ANOTHER'}; ${Math.round(residentMebibytes(replica.pid))} MiB`,
      );
      if (round < 2) await replica.kill();
    }
    await postgres.start();
    const returned = replica;
    await until(
      async () => (await returned.metric('order_lookup_served_from_file{what="codes"}')) === 0,
      PATIENCE,
    );
    await pause(5_000);
    lines.push(
      `after everything was read from the database: ${Math.round(residentMebibytes(returned.pid))} MiB`,
    );
    return lines.join('\n');
  } finally {
    await replica?.kill();
    await stage.strike();
    await rm(folder, { recursive: true, force: true });
  }
}
