import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { generateApiKey } from '../../src/auth/api-keys/api-key.js';
import { generate } from '../bench/generate.js';
import { residentMebibytes } from '../support/linux-process.js';
import { startNginx } from '../support/nginx.js';
import { PATHS } from '../support/paths.js';
import { exchange } from '../support/raw.js';
import { Reader, requestTo } from '../support/reader.js';
import type { World } from '../support/world.js';
import type { Attack } from './attacker.js';

const DESCRIPTORS = 6_000;
const FORGED_PER_SECOND = 3_000;
const PAGE = requestTo('/docs/swagger-ui-bundle.js', {});
const NEVER = requestTo(PATHS.orderUpdate, { 'Transfer-Encoding': 'chunked' });

/**
 * The attacks of hardening.md ("Strangers"), each for so many seconds, and what a caller that was connected before,
 * newcomers, the health check and memory notice: directly, and behind the nginx of deploy/nginx.
 * @param only a part of the names of the attacks that are tried
 */
export async function strangers(world: World, seconds = 12, only = ''): Promise<string> {
  const { issuer, credentials, database } = world;
  const environment = { TRUSTED_PROXY_HOPS: '1' };
  const service = await world.process(environment, { descriptors: DESCRIPTORS });
  await service.ready();
  service.ignoreLog();
  const nginx = await startNginx([new URL(service.url).host]);
  const caller = { 'Api-Key': credentials.key, Authorization: credentials.token };
  const good = requestTo(PATHS.orderUpdate, caller);
  const large = requestTo(PATHS.communicationCodes, caller);
  await database.addCodes(30_000);

  const sent =
    (count: number, bytes: string, isReading: boolean) =>
    async (port: number): Promise<string> => {
      const attack: Attack = { port, count, bytes, isReading, seconds };
      const file = join(import.meta.dirname, 'attacker.js');
      const [closed] = (await once(
        new Worker(file, { workerData: attack }),
        'message',
      )) as number[];
      return `${closed} of ${count} connections were closed`;
    };
  const [, claims] = credentials.token.split('.');
  const forged = (kid: string): string => {
    const head = Buffer.from(JSON.stringify({ alg: 'RS256', kid, typ: 'at+jwt' }));
    return `Bearer ${head.toString('base64url')}.${claims}.${randomBytes(256).toString('base64url')}`;
  };
  const flood = async (port: number, kid: (at: number) => string): Promise<string> => {
    const headersOf = (at: number): Record<string, string> => ({
      ...(at % 2 ? { 'Api-Key': generateApiKey() } : {}),
      Authorization: forged(kid(at)),
    });
    const requests = Array.from({ length: 2_000 }, (_, at) =>
      requestTo(PATHS.orderUpdate, headersOf(at)),
    );
    const load = { port, connections: 32, seconds, requests, once: false };
    const tally = await generate({ ...load, perSecond: FORGED_PER_SECOND });
    const said = Object.entries(tally).map(([status, { length }]) => `${length} times ${status}`);
    return said.join(', ');
  };
  const attacks: Record<string, (port: number) => Promise<string>> = {
    nothing: () => pause(seconds * 1000, ''),
    '100 connections with 2,000 requests each, read, with a key': sent(
      100,
      good.repeat(2_000),
      true,
    ),
    'the same, unread': sent(100, good.repeat(2_000), false),
    'the same, unread, large answers': sent(100, large.repeat(2_000), false),
    'the same, without a key': sent(100, PAGE.repeat(2_000), true),
    '300 connections with 100 requests for the largest open page each, unread': sent(
      300,
      PAGE.repeat(100),
      false,
    ),
    'unread pages, then 40 MB of garbage on each of 4 connections': sent(
      4,
      PAGE.repeat(10) + 'garbage '.repeat(5_000_000),
      false,
    ),
    '5,000 connections with a chunked request that never comes': sent(5_000, NEVER, true),
    'more silent connections than descriptors': sent(7_000, '', true),
  };
  const floods: typeof attacks = {
    [`${FORGED_PER_SECOND} forged tokens a second without a valid key`]: (port) =>
      flood(port, () => 'rsa-1'),
    'unknown key ids, and a rotation': async (port) => {
      const hits = issuer.jwksHits;
      const attack = flood(port, (at) => `forged-${at}`);
      await pause(seconds * 500);
      await issuer.rotate(randomUUID());
      const startedAt = performance.now();
      const headers = { 'Api-Key': credentials.key, Authorization: await issuer.token() };
      const { status } = await fetch(service.url + PATHS.orderUpdate, { headers });
      const took = Math.round(performance.now() - startedAt);
      const tally = await attack;
      const questions = issuer.jwksHits - hits;
      return `${tally}; a token of the new key: ${status} after ${took} ms; ${questions} questions to the issuer`;
    },
  };

  /**
   * Does the work again and again, and gives how often, how often it failed, and the longest time, also of one that has
   * not ended.
   */
  const watch = (work: () => Promise<boolean>, everyMs: number): (() => string) => {
    let [count, failed, longest, startedAt, isOver] = [0, 0, 0, 0, false];
    const round = async (): Promise<void> => {
      startedAt = performance.now();
      const succeeded = await work().catch(() => false);
      [count, failed] = [count + 1, failed + Number(!succeeded)];
      longest = Math.max(longest, performance.now() - startedAt);
      if (!isOver) setTimeout(() => void round(), everyMs);
    };
    void round();
    return () => {
      isOver = true;
      return `${failed} of ${count} failed, longest ${Math.round(longest)} ms`;
    };
  };
  const lines: string[] = [];
  try {
    const runs = [
      ...Object.entries({ ...attacks, ...floods }).map(
        (each) => ['directly', service.url, ...each] as const,
      ),
      ...Object.entries(attacks).map((each) => ['behind nginx', nginx.url, ...each] as const),
    ].filter(([, , name]) => name.includes(only));
    for (const [where, url, name, attack] of runs) {
      const port = Number(new URL(url).port);
      const established = await Reader.to(url);
      const stop = [
        watch(async () => (await established.ask(good)).status === 200, 5),
        watch(
          async () => (await exchange(port, good, { answers: 1 })).responses[0]?.status === 200,
          200,
        ),
        watch(async () => (await fetch(`${service.managementUrl}/health/live`)).ok, 200),
      ];
      await pause(500);
      const before = residentMebibytes(service.pid);
      let most = before;
      const timer = setInterval(() => {
        most = Math.max(most, residentMebibytes(service.pid));
      }, 50);
      const outcome = await attack(port).finally(() => clearInterval(timer));
      const [former, newcomers, health] = stop.map((end) => end());
      established.close();
      lines.push(
        `${where}, ${name} (${outcome}): the established caller ${former}; newcomers ${newcomers}; ` +
          `/health/live ${health}; memory ${Math.round(before)} MiB, at most ${Math.round(most)}`,
      );
      console.error(lines.at(-1)); // for a run that is broken off
      await pause(3_000);
    }
    return lines.join('\n');
  } finally {
    await nginx.stop();
  }
}
