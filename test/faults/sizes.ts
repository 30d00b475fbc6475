import { setTimeout as pause } from 'node:timers/promises';
import { issueKey } from '../support/api-keys.js';
import { readPeakMebibytes, readResidentMebibytes } from '../support/process-figures.js';
import { PATHS } from '../support/paths.js';
import { until } from '../support/until.js';
import type { World } from '../support/world.js';
import { quantiles } from './figures.js';

const CHANGES = 10;
/** A short pause between two checks, because the delays are measured in milliseconds. */
const OFTEN = { everyMs: 2 };
const { orderUpdate: UPDATE, communicationCodes: CODES } = PATHS;

/**
 * Reports the memory of a replica, and how soon the replica serves a change and refuses a revoked key.
 * @param count the number of codes. Without it, three sizes are measured
 */
export async function sizes(world: World, count?: number): Promise<string> {
  const lines: string[] = [];
  for (const codes of count === undefined ? [1_000, 20_000, 100_000] : [count]) {
    lines.push(`${codes} codes: ${(await measureSize(world, codes)).join('; ')}`);
    console.error(lines.at(-1)); // printed now, so that an interrupted run shows it, too
  }
  return lines.join('\n');
}

async function measureSize(world: World, codes: number): Promise<string[]> {
  const { database, headers } = world;
  await database.query('truncate communication_code');
  await database.addCodes(codes);
  const startedAt = performance.now();
  const service = await world.startReadyReplica({ NODE_OPTIONS: '--max-semi-space-size=8' }); // as in the image
  const ready = `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
  const found = [
    `ready after ${ready}, ${Math.round(readResidentMebibytes(service.pid))} MiB ` +
      `(at most ${Math.round(readPeakMebibytes(service.pid))})`,
  ];
  const ask = async (path: string, key = world.key.key): Promise<[number, string]> => {
    const response = await fetch(service.url + path, { headers: { ...headers, 'Api-Key': key } });
    return [response.status, await response.text()];
  };
  /** Returns the milliseconds from the commit until the change has its effect. */
  const measureDelay = async (sql: string, hasEffect: () => Promise<boolean>): Promise<number> => {
    await database.query(sql);
    const committedAt = performance.now();
    await until(hasEffect, OFTEN);
    return performance.now() - committedAt;
  };
  const setCode = (text: string): string =>
    `update communication_code set description = '${text}' where code = 'CODE-1'`;
  const served: number[] = [];
  const refused: number[] = [];
  await service.readMetric('nodejs_eventloop_lag_max_seconds'); // each reading of this metric resets it
  for (let change = 0; change < CHANGES; change++) {
    await pause(300 * Math.random()); // so that the changes come at any time between two polls (POLL_INTERVAL_MS)
    const shows = async (): Promise<boolean> => (await ask(`${CODES}?code=CODE-1`))[1].includes(`"Change ${change}"`);
    served.push(await measureDelay(setCode(`Change ${change}`), shows));
  }
  const longestTurnMs = 1_000 * (await service.readMetric('nodejs_eventloop_lag_max_seconds'));
  for (let change = 0; change < CHANGES; change++) {
    const { key, id } = await issueKey(database);
    await until(async () => (await ask(UPDATE, key))[0] === 200);
    await database.query(setCode(`Read ${change}`)); // makes the service read all codes at the same time
    const revoke = `update api_key set revoked_at = now() where id = '${id}'`;
    refused.push(await measureDelay(revoke, async () => (await ask(UPDATE, key))[0] === 401));
  }
  found.push(
    `a change served after ${quantiles(served)}, longest turn of the event loop ${Math.round(longestTurnMs)} ms`,
    `a revoked key refused after ${quantiles(refused)} while all codes are read`,
  );
  found.push(`at most ${Math.round(readPeakMebibytes(service.pid))} MiB`);
  await service.kill();
  return found;
}
