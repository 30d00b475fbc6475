import { setTimeout as pause } from 'node:timers/promises';
import { generateApiKey } from '../../src/auth/api-keys/api-key.js';
import { ALL_PATHS } from '../support/paths.js';
import { issueKey } from '../support/keys.js';
import { World } from '../support/world.js';
import { Traffic } from '../support/traffic.js';
import { quantiles } from './figures.js';
import { statusOf } from './probe.js';

const PER_SECOND = 300;
/** Requests a second with unknown key ids: of strangers, and of one caller with a valid API key. */
const UNKNOWN_PER_SECOND = 100;
const APART_MS = 30_000;
const LIMIT_MS = 10_000;
const MINUTE_MS = 60_000;

/** The issuer rotates its keys while strangers and one caller send unknown key ids. Gives how soon the new key counts, and how often the issuer is asked. */
export async function rotation(rotations = 5): Promise<string> {
  const stage = await World.apart(1);
  const { issuer, credentials, database } = stage;
  const url = `${stage.replicas[0]?.url}${ALL_PATHS[0]}`;
  const busybody = await issueKey(database);
  const asks: number[] = [];
  let seen = issuer.jwksHits;
  let sent = 0;
  const unknown = async (): Promise<void> => {
    const token = await issuer.token({ header: { kid: `unknown-${sent}` } });
    const key = sent++ % 2 === 0 ? generateApiKey() : busybody.key;
    await statusOf(url, { key, token });
  };
  const timers = [
    setInterval(() => void unknown(), 1000 / UNKNOWN_PER_SECOND),
    setInterval(() => {
      for (; seen < issuer.jwksHits; seen++) asks.push(performance.now());
    }, 10),
  ];
  const traffic = new Traffic(() => stage.replicas[0]?.url ?? '', credentials, {
    perSecond: PER_SECOND,
  });
  try {
    const delays: number[] = [];
    for (let round = 0; round < rotations; round++) {
      await pause(APART_MS);
      await issuer.rotate(`rotated-${round}`);
      const token = await issuer.token();
      const startedAt = performance.now();
      while (
        (await statusOf(url, { key: credentials.key, token })) !== 200 &&
        performance.now() - startedAt < LIMIT_MS
      )
        await pause(20);
      delays.push(performance.now() - startedAt);
    }
    const { asked, failed, failures, p99 } = await traffic.stop();
    const most = Math.max(
      ...asks.map((from) => asks.filter((at) => at >= from && at < from + MINUTE_MS).length),
    );
    return [
      `${rotations} rotations beside ${sent} requests with unknown key ids: a token of the new key was accepted after ${quantiles(delays)}`,
      `the issuer was asked at most ${most} times in a minute; ${failed} of ${asked} other requests failed (p99 ${p99.toFixed(1)} ms)`,
      ...failures.slice(0, 5),
    ].join('\n');
  } finally {
    for (const timer of timers) clearInterval(timer);
    await traffic.stop();
    await stage.close();
  }
}
