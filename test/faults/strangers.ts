import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { generateApiKey } from '../../src/auth/api-keys/api-key.js';
import { generate } from '../bench/generate.js';
import { openDescriptors, readResidentMebibytes } from '../support/process-figures.js';
import { PATHS } from '../support/paths.js';
import { exchange } from '../support/exchange.js';
import { Reader, requestTo } from '../support/reader.js';
import type { World } from '../support/world.js';
import type { Attack } from './attacker.js';

/** The replica's limit of open files. One attack opens 5,000 connections and stays below it, another opens 7,000. */
const DESCRIPTORS = 6_000;
const FORGED_PER_SECOND = 3_000;
const PUBLISHED_KEY_ID = 'rsa-1'; // of the test's issuer
const PAGE = requestTo('/docs/swagger-ui-bundle.js', {});
const REQUEST_WITHOUT_BODY = requestTo(PATHS.orderUpdate, { 'Transfer-Encoding': 'chunked' });

/**
 * Reports the effect of each attack on callers, on the health check and on memory. No gateway limits the attackers.
 * @param seconds the duration of each attack
 * @param only the text that a name must contain: other attacks are not tried
 */
export async function strangers(world: World, seconds = 12, only = ''): Promise<string> {
  const { issuer, credentials, database } = world;
  const service = await world.startReplicaProcess({}, { descriptors: DESCRIPTORS });
  await service.waitUntilReady();
  service.ignoreLog();
  // The watched caller and the attacks by lookups use these valid credentials
  const caller = { 'Api-Key': credentials.key, Authorization: credentials.token };
  const lookup = requestTo(PATHS.orderUpdate, caller);
  const largeLookup = requestTo(PATHS.communicationCodes, caller);
  await database.addCodes(30_000);

  /** Returns an attack: it opens connections, and sends the same bytes on each. */
  const onConnections =
    (attack: Omit<Attack, 'port' | 'seconds'>) =>
    async (port: number): Promise<string> => {
      const workerData: Attack = { ...attack, port, seconds };
      const worker = new Worker(join(import.meta.dirname, 'attacker.js'), { workerData });
      const [closed] = (await once(worker, 'message')) as [number];
      return `${closed} of ${attack.count} connections were closed`;
    };
  const [, claims] = credentials.token.split('.');
  const forged = (kid: string): string => {
    const head = Buffer.from(JSON.stringify({ alg: 'RS256', kid, typ: 'at+jwt' }));
    return `Bearer ${head.toString('base64url')}.${claims}.${randomBytes(256).toString('base64url')}`;
  };
  const flood = async (port: number, kid: (at: number) => string): Promise<string> => {
    const headersOf = (at: number): Record<string, string> => ({
      ...(at % 2 ? { 'Api-Key': generateApiKey() } : {}), // an unknown key in every second request
      Authorization: forged(kid(at)),
    });
    const requests = Array.from({ length: 2_000 }, (_, at) => requestTo(PATHS.orderUpdate, headersOf(at)));
    const tally = await generate({
      port,
      connections: 32,
      requests,
      end: { kind: 'time', seconds },
      perSecond: FORGED_PER_SECOND,
    });
    const said = Object.entries(tally).map(([status, count]) => `${count} times ${status}`);
    return said.join(', ');
  };
  const attacks: Record<string, (port: number) => Promise<string>> = {
    nothing: async () => {
      await pause(seconds * 1000);
      return '';
    },
    '100 connections with 2,000 lookups each, read': onConnections({
      count: 100,
      bytes: lookup.repeat(2_000),
      isReading: true,
    }),
    '100 connections with 2,000 lookups each, unread': onConnections({
      count: 100,
      bytes: lookup.repeat(2_000),
      isReading: false,
    }),
    '100 connections with 2,000 large lookups each, unread': onConnections({
      count: 100,
      bytes: largeLookup.repeat(2_000),
      isReading: false,
    }),
    '100 connections with 2,000 requests for the largest open page each, read': onConnections({
      count: 100,
      bytes: PAGE.repeat(2_000),
      isReading: true,
    }),
    '100 connections with 2,000 requests for the largest open page each, unread': onConnections({
      count: 100,
      bytes: PAGE.repeat(2_000),
      isReading: false,
    }),
    '300 connections with 100 requests for the largest open page each, unread': onConnections({
      count: 300,
      bytes: PAGE.repeat(100),
      isReading: false,
    }),
    'unread pages, then 40 MB of garbage on each of 4 connections': onConnections({
      count: 4,
      bytes: PAGE.repeat(10) + 'garbage '.repeat(5_000_000),
      isReading: false,
    }),
    '5,000 connections with a chunked body that never comes': onConnections({
      count: 5_000, // fewer than DESCRIPTORS
      bytes: REQUEST_WITHOUT_BODY,
      isReading: true,
    }),
    'more silent connections than descriptors': onConnections({
      count: 7_000, // more than DESCRIPTORS
      bytes: '',
      isReading: true,
    }),
  };
  const floods: typeof attacks = {
    [`${FORGED_PER_SECOND} forged tokens a second without a valid key`]: (port) => flood(port, () => PUBLISHED_KEY_ID),
    'unknown key ids, and a rotation': async (port) => {
      const hits = issuer.jwksHits;
      const attack = flood(port, (at) => `forged-${at}`);
      await pause((seconds / 2) * 1000);
      await issuer.rotate(randomUUID());
      const startedAt = performance.now();
      const headers = { 'Api-Key': credentials.key, Authorization: await issuer.createToken() };
      const { status } = await fetch(service.url + PATHS.orderUpdate, { headers });
      const took = Math.round(performance.now() - startedAt);
      const tally = await attack;
      const fetches = issuer.jwksHits - hits;
      return `${tally}; a token of the new key: ${status} after ${took} ms; ${fetches} fetches of the key set`;
    },
  };

  const lines: string[] = [];
  const { url } = service;
  const port = Number(new URL(url).port);
  const tried = Object.entries({ ...attacks, ...floods }).filter(([title]) => title.includes(only));
  for (const [name, attack] of tried) {
    const established = await Reader.to(url);
    const establishedWatch = new Watch(async () => (await established.ask(lookup)).status === 200, 5);
    const newcomer = new Watch(async () => {
      const { responses } = await exchange(port, lookup, { answers: 1 });
      return responses[0]?.status === 200;
    }, 200);
    const liveness = `${service.managementUrl}/health/live`;
    const health = new Watch(async () => (await fetch(liveness)).ok, 200);
    await pause(500);
    const before = readResidentMebibytes(service.pid);
    let most = before;
    let descriptors = 0;
    const timer = setInterval(() => {
      most = Math.max(most, readResidentMebibytes(service.pid));
      descriptors = Math.max(descriptors, openDescriptors(service.pid));
    }, 50);
    const outcome = await attack(port).finally(() => clearInterval(timer));
    const effects = [
      `the established caller ${establishedWatch.end()}`,
      `newcomers ${newcomer.end()}`,
      `/health/live ${health.end()}`,
      `memory ${Math.round(before)} MiB, at most ${Math.round(most)}`,
      `at most ${descriptors} descriptors`,
    ];
    established.close();
    lines.push(`${name} (${outcome}): ${effects.join('; ')}`);
    console.error(lines.at(-1)); // printed now, so that an interrupted run shows it, too
    await pause(3_000);
  }
  return lines.join('\n');
}

/** Repeats the work, and records times and failures. */
class Watch {
  private count = 0;
  private failed = 0;
  private longestMs = 0;
  private startedAtMs = 0;
  private isUnderWay = false;
  private isOver = false;

  constructor(
    private readonly work: () => Promise<boolean>,
    private readonly everyMs: number,
  ) {
    void this.run();
  }

  /** Returns the numbers of attempts and failures, and the longest time. The time includes an unfinished attempt. */
  end(): string {
    this.isOver = true;
    if (this.isUnderWay) this.noteTime();
    return `${this.failed} of ${this.count} failed, longest ${Math.round(this.longestMs)} ms`;
  }

  private async run(): Promise<void> {
    while (!this.isOver) {
      this.startedAtMs = performance.now();
      this.isUnderWay = true;
      const hasSucceeded = await this.tryOnce();
      this.isUnderWay = false;
      this.noteTime();
      this.count++;
      if (!hasSucceeded) this.failed++;
      await pause(this.everyMs);
    }
  }

  private noteTime(): void {
    this.longestMs = Math.max(this.longestMs, performance.now() - this.startedAtMs);
  }

  private async tryOnce(): Promise<boolean> {
    try {
      return await this.work();
    } catch {
      return false;
    }
  }
}
