import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { DataSource } from 'typeorm';
import { CodesReader } from '../../src/codes/codes.reader.js';
import { Connections } from '../../src/database/connections.js';
import { type TestDatabase, createDatabase } from '../support/database.js';
import { startMigratedPostgres } from '../support/migrated-postgres.js';

/** Reads all of so many codes, then a change of one: time, rows read and the longest turn of the event loop. */
export async function reading(codes = 1_000_000): Promise<string> {
  const server = await startMigratedPostgres();
  const database = await createDatabase({ server: server.url });
  const source = new DataSource(
    new Connections({ DATABASE_URL: database.urlOf('order_lookup_service') } as never).poolOptions,
  );
  try {
    await database.query(
      `insert into communication_code select 'TYPE-' || n % 100, 'CODE-' || n, rpad('Description of code ' || n, 50, '.') from generate_series(1, ${codes}) as n`,
    );
    const reader = new CodesReader(source);
    const delay = monitorEventLoopDelay({ resolution: 1 });
    const lines: string[] = [];
    const first = await timed(delay, () => reader.read(undefined));
    lines.push(`${codes} codes, never analyzed: ${first.said}`);
    await database.query('vacuum analyze communication_code');
    const whole = await timed(delay, () => reader.read(undefined));
    lines.push(`analyzed: ${whole.said}`);
    await source.destroy(); // what a session read is counted for certain when it ends
    const before = await rowsRead(database);
    await database.query(
      `update communication_code set description = 'Changed' where (code_type, code) = ('TYPE-1', 'CODE-1')`,
    );
    const { said, value } = await timed(delay, () => reader.read(whole.value.horizon));
    await source.destroy();
    const rows = (await rowsRead(database)) - before;
    lines.push(
      `a change of one: ${said}, ${rows} rows read, ${'changes' in value ? value.changes.records.length : 'all'} of them again`,
    );
    return lines.join('\n');
  } finally {
    if (source.isInitialized) await source.destroy();
    await database.close();
    await server.remove();
  }
}

async function timed<T>(
  delay: IntervalHistogram,
  work: () => Promise<T>,
): Promise<{ said: string; value: T }> {
  delay.reset();
  delay.enable();
  const [startedAt, usage] = [performance.now(), process.cpuUsage()];
  const value = await work();
  const seconds = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(usage);
  delay.disable();
  return {
    said: `${seconds.toFixed(2)} s (${((user + system) / 1e6).toFixed(2)} s of this process's CPU), longest turn ${(delay.max / 1e6).toFixed(1)} ms`,
    value,
  };
}

async function rowsRead(database: TestDatabase): Promise<number> {
  const [row] = await database.query<{ count: string }>(
    `select pg_stat_get_tuples_returned(c) + pg_stat_get_tuples_fetched(c) + (select sum(pg_stat_get_tuples_fetched(indexrelid)) from pg_index where indrelid = c) as count
     from (select 'communication_code'::regclass::oid as c, pg_stat_clear_snapshot()) as of`,
  );
  return Number(row?.count);
}
