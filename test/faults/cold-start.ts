import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ALL_PATHS } from '../support/paths.js';
import { until } from '../support/service.js';
import type { World } from '../support/world.js';
import { quantiles } from './figures.js';

const REPLICAS = 3;
const ROUNDS = 5;
const CODES = 20_000;

/** Three replicas are killed and started again, one by one and all at once, while PostgreSQL and the issuer are away. */
export async function coldStart(world: World): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'order-lookup-'));
  const { database, postgres, issuer, replicas, headers } = world;
  const start = async (at: number): Promise<void> => {
    replicas[at] = await world.replica({ LAST_GOOD_FILE: join(folder, `replica-${at}`) });
  };
  const tags = (at: number): Promise<(string | null)[]> =>
    Promise.all(
      ALL_PATHS.map(async (path) => {
        const reply = await fetch(`${replicas[at]?.url}${path}`, { headers });
        return reply.ok ? reply.headers.get('etag') : null;
      }),
    );
  try {
    await database.addCodes(CODES);
    for (let at = 0; at < REPLICAS; at++) {
      await start(at);
      const writes = 'order_lookup_last_good_writes_total';
      await until(async () => ((await replicas[at]?.metric(writes)) ?? 0) > 0);
    }
    const before = String(await tags(0));
    await postgres.stop();
    issuer.fault = 'down';
    let others = 0;
    /** Gives the milliseconds from the start of the process until all three answers were there. */
    const restart = async (at: number): Promise<number> => {
      await replicas[at]?.kill();
      const startedAt = performance.now();
      await start(at);
      if (String(await tags(at)) !== before) others++;
      return performance.now() - startedAt;
    };
    const [single, together]: [number[], number[]] = [[], []];
    for (let round = 0; round < ROUNDS; round++) {
      for (let at = 0; at < REPLICAS; at++) single.push(await restart(at));
      together.push(...(await Promise.all(replicas.map((_, at) => restart(at)))));
    }
    return [
      `${CODES} codes, from the start of a process to its first answers, one after the other: ${quantiles(single)}; all at once: ${quantiles(together)}`,
      `${others} of ${single.length + together.length} starts served other entity tags than before the outage`,
    ].join('\n');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
