import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { DataSource } from 'typeorm';
import { CodesSnapshot } from '../../src/codes/codes-snapshot.js';
import { lockTables, readCodes } from '../../src/codes/read-codes.js';
import { poolOptions } from '../../src/database/connections.js';
import { readTransaction, withSession } from '../../src/database/session.js';
import { createDatabase } from '../support/database.js';
import { startMigratedPostgres } from '../support/migrated-postgres.js';

/** Reads all of so many codes and makes the whole list of them: time and the longest turn of the event loop. */
export async function reading(count?: number): Promise<string> {
  const server = await startMigratedPostgres();
  const lines: string[] = [];
  try {
    for (const codes of count === undefined ? [1_000, 20_000, 100_000] : [count]) {
      const database = await createDatabase({ server: server.url });
      const source = new DataSource(
        poolOptions({ DATABASE_URL: database.urlOf('order_lookup_service') }),
      );
      await database.query(
        `insert into communication_code select 'TYPE-' || n % 100, 'CODE-' || n, rpad('Description of code ' || n, 50, '.') from generate_series(1, ${codes}) as n`,
      );
      const read = (): Promise<unknown> =>
        withSession(source, (manager) =>
          readTransaction(manager, async () => {
            await lockTables(manager);
            return new CodesSnapshot(await readCodes(manager), Date.now()).prepare();
          }),
        );
      await read();
      lines.push(`${codes} codes: ${await timed(monitorEventLoopDelay({ resolution: 1 }), read)}`);
      await source.destroy();
      await database.drop();
    }
    return lines.join('\n');
  } finally {
    await server.remove();
  }
}

async function timed(delay: IntervalHistogram, work: () => Promise<unknown>): Promise<string> {
  delay.enable();
  const [startedAt, usage] = [performance.now(), process.cpuUsage()];
  await work();
  const seconds = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(usage);
  delay.disable();
  return `${seconds.toFixed(2)} s (${((user + system) / 1e6).toFixed(2)} s of this process's CPU), longest turn ${(delay.max / 1e6).toFixed(1)} ms`;
}
