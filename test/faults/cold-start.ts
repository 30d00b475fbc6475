import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ALL_PATHS, PATHS } from '../support/paths.js';
import type { RunningService } from '../support/service.js';
import { until } from '../support/service.js';
import type { Reply, World } from '../support/world.js';
import { quantiles } from './figures.js';

const REPLICAS = 3;
const ROUNDS = 5;
const CODES = 20_000;
const PATIENCE = { timeoutMs: 120_000, everyMs: 10 };

/** Three replicas are killed and started again, one by one and all at once, while PostgreSQL and the issuer are away; then PostgreSQL returns with a change. */
export async function coldStart(world: World): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'order-lookup-'));
  const { database, postgres, issuer, replicas, headers } = world;
  const ask = (service: RunningService): Promise<Reply> =>
    world.get(PATHS.orderUpdate, { service });
  const environment = (at: number): Record<string, string> => ({
    LAST_GOOD_FILE: join(folder, `replica-${at}`),
  });
  const tags = ({ url }: RunningService): Promise<(string | null)[]> =>
    Promise.all(
      ALL_PATHS.map(async (path) => (await fetch(url + path, { headers })).headers.get('etag')),
    );
  try {
    await database.addCodes(CODES);
    for (let at = 0; at < REPLICAS; at++) {
      const replica = await world.replica(environment(at));
      const written = (): Promise<number> => replica.metric('order_lookup_last_good_writes_total');
      await until(async () => (await written()) > 0, PATIENCE);
      replicas.push(replica);
    }
    const before = String(await tags(replicas[0] as RunningService));
    await postgres.stop();
    issuer.fault = 'down';
    let others = 0;
    /** Gives the milliseconds from the start of the process to its first 200. */
    const restart = async (at: number): Promise<number> => {
      await replicas[at]?.kill();
      const startedAt = performance.now();
      const replica = await world.replica(environment(at));
      await until(async () => (await ask(replica)).status === 200, PATIENCE);
      const took = performance.now() - startedAt;
      if (String(await tags(replica)) !== before) others++;
      replicas[at] = replica;
      return took;
    };
    const [single, together]: [number[], number[]] = [[], []];
    for (let round = 0; round < ROUNDS; round++) {
      for (let at = 0; at < REPLICAS; at++) single.push(await restart(at));
      together.push(...(await Promise.all(replicas.map((_, at) => restart(at)))));
    }
    await postgres.start();
    await database.addValue('Returned');
    const committedAt = performance.now();
    for (const replica of replicas)
      await until(async () => (await ask(replica)).text.includes('"Returned"'), PATIENCE);
    return [
      `${CODES} codes, from the start of a process to its first 200, one after the other: ${quantiles(single)}; all at once: ${quantiles(together)}`,
      `${others} of ${single.length + together.length} starts served other entity tags than before the outage`,
      `PostgreSQL returned with a change: every replica served it ${Math.round(performance.now() - committedAt)} ms after the commit`,
    ].join('\n');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
