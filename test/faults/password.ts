import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { PATHS } from '../support/paths.js';
import { until } from '../support/service.js';
import { Stage } from '../support/stage.js';
import { Traffic } from '../support/traffic.js';
import { quantiles } from './figures.js';
import { textOf } from './probe.js';

const PER_SECOND = 500;
const ROLE = 'order_lookup_service';
/** How long the file and the server differ, in milliseconds. */
const APART_MS = 2_000;

/** The password is changed and all sessions are ended, again and again, under 500 requests a second. Gives what failed, and how soon changes were there again. */
export async function password(rotations = 10): Promise<string> {
  const stage = await Stage.set(0);
  const folder = await mkdtemp(join(tmpdir(), 'order-lookup-'));
  const file = join(folder, 'database-url');
  const { database, replicas, credentials } = stage;
  const inFile = async (value: string): Promise<void> => {
    const url = Object.assign(new URL(database.urlOf(ROLE)), { password: value });
    await writeFile(`${file}.next`, url.href);
    await rename(`${file}.next`, file);
  };
  const atServer = (value: string): Promise<unknown> =>
    database.query(`alter role ${ROLE} password '${value}'`);
  try {
    await atServer('first');
    await inFile('first');
    for (let count = 0; count < 2; count++)
      replicas.push(await stage.replica({ DATABASE_URL: '', DATABASE_URL_FILE: file }));
    let next = 0;
    const traffic = new Traffic(() => replicas[next++ % replicas.length]?.url ?? '', credentials, {
      perSecond: PER_SECOND,
    });
    const fresh: number[] = [];
    for (let rotation = 0; rotation < rotations; rotation++) {
      const value = `rotated-${rotation}`;
      const steps = [() => atServer(value), () => inFile(value)];
      const [first, second] = rotation % 2 === 0 ? steps : steps.toReversed();
      await first?.();
      await database.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${ROLE}'`,
      );
      await pause(APART_MS);
      await second?.();
      const committedAt = performance.now();
      await database.query(
        `insert into code_list_value (code_list, value) values ('orderType', '${value}')`,
      );
      await until(async () => {
        const bodies = replicas.map(({ url }) => textOf(url + PATHS.orderUpdate, credentials));
        return (await Promise.all(bodies)).every((body) => body.includes(`"${value}"`));
      });
      fresh.push(performance.now() - committedAt);
    }
    const { asked, failed, failures, p99 } = await traffic.stop();
    return [
      `${rotations} rotations of the password, all sessions ended each time: ${failed} of ${asked} requests failed (p99 ${p99.toFixed(1)} ms)`,
      `a change after the rotation was served by ${replicas.length} replicas after: ${quantiles(fresh)}`,
      ...failures.slice(0, 5),
    ].join('\n');
  } finally {
    await rm(folder, { recursive: true, force: true });
    await stage.strike();
  }
}
