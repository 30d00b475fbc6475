import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { generateApiKey } from '../../src/auth/api-keys/api-key.js';
import { generate } from '../bench/generate.js';
import { residentMebibytes } from '../support/linux-process.js';
import { requestTo } from '../support/reader.js';
import { Traffic, WITHIN_A_SECOND, type TrafficReport } from '../support/traffic.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';
import { median } from './figures.js';
import { Stage } from '../support/stage.js';

/** Rounds without and with the attack take turns; the median of their p99 counts, since the machine has pauses of its own. */
const ROUNDS = 5;
const SECONDS = 5;
const PER_SECOND = 5_000;
const GOOD_PER_SECOND = 200;

/** What good callers notice of forged tokens and wrong keys, what memory they take, and how often the issuer is asked. */
export async function forgery(): Promise<string> {
  const stage = await Stage.set(1);
  const [service] = stage.replicas;
  if (!service) throw new Error('no replica');
  const { key, token } = stage.credentials;
  const [head = '', claims = ''] = token.split('.');
  const headerOf = (header: object): string =>
    Buffer.from(JSON.stringify(header)).toString('base64url');
  const forged = (header: string): string =>
    `${header}.${claims}.${randomBytes(256).toString('base64url')}`;
  const attacks: Record<string, (at: number) => Record<string, string>> = {
    'tokens with an unknown key id': (at) => ({
      'Api-Key': key,
      Authorization: `Bearer ${forged(headerOf({ alg: 'RS256', kid: `k${at}` }))}`,
    }),
    'tokens with a known key id and a wrong signature': () => ({
      'Api-Key': key,
      Authorization: `Bearer ${forged(head)}`,
    }),
    'wrong keys, each another': () => ({
      'Api-Key': generateApiKey(),
      Authorization: `Bearer ${token}`,
    }),
  };
  const good = async (seconds: number): Promise<TrafficReport> => {
    const traffic = new Traffic(() => service.url, stage.credentials, {
      ...WITHIN_A_SECOND,
      perSecond: GOOD_PER_SECOND,
      mix: ALL_PATHS.map((path) => ({ path, status: 200 })),
    });
    await pause(seconds * 1000);
    return traffic.stop();
  };
  try {
    service.ignoreLog();
    await good(5); // warms up
    const lines: string[] = [];
    for (const [name, headers] of Object.entries(attacks)) {
      const before = { memory: residentMebibytes(service.pid), hits: stage.issuer.jwksHits };
      const rounds: { normal: TrafficReport; attacked: TrafficReport }[] = [];
      const answered: Record<string, number> = {};
      for (let round = 0; round < ROUNDS; round++) {
        const normal = await good(SECONDS);
        const attack = generate({
          port: service.port,
          connections: 64,
          seconds: SECONDS,
          requests: Array.from({ length: SECONDS * PER_SECOND }, (_, at) =>
            requestTo(PATHS.orderUpdate, headers(at)),
          ),
          once: false,
          hasBody: true,
          perSecond: PER_SECOND,
        });
        const attacked = await good(SECONDS);
        const tally = await attack;
        for (const [status, { length }] of Object.entries(tally))
          answered[status] = (answered[status] ?? 0) + length;
        rounds.push({ normal, attacked });
      }
      const of = (kind: 'normal' | 'attacked', figure: 'p50' | 'p99'): number =>
        median(rounds.map((round) => round[kind][figure]));
      const failed = rounds.reduce((sum, { attacked }) => sum + attacked.failed, 0);
      lines.push(
        `${PER_SECOND} a second, ${name}: ${Object.entries(answered)
          .map(([status, count]) => `${count} times ${status}`)
          .join(', ')}`,
        `  good callers: p99 ${of('attacked', 'p99').toFixed(1)} ms, without ${of('normal', 'p99').toFixed(1)} ms (${(of('attacked', 'p99') / of('normal', 'p99')).toFixed(1)} times); median ${of('attacked', 'p50').toFixed(1)} ms, without ${of('normal', 'p50').toFixed(1)} ms; ${failed} failed`,
        `  memory ${Math.round(before.memory)} → ${Math.round(residentMebibytes(service.pid))} MiB; the issuer was asked ${stage.issuer.jwksHits - before.hits} times in ${2 * ROUNDS * SECONDS} s`,
      );
    }
    return lines.join('\n');
  } finally {
    await stage.strike();
  }
}
