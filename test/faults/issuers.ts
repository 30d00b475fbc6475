import { setTimeout as pause } from 'node:timers/promises';
import { toMessage } from '../../src/telemetry/error-message.js';
import { type Fault, type SigningKey, createSigningKey } from '../support/issuer.js';
import { PATHS } from '../support/paths.js';
import { until } from '../support/until.js';
import { Traffic, WITHIN_A_SECOND } from '../support/traffic.js';
import type { World } from '../support/world.js';
import { failuresIn } from './figures.js';

const OPTIONS = { ...WITHIN_A_SECOND, perSecond: 500 };
const FAULTS: readonly Fault[] = ['down', 'slow', 'status 500', 'html', 'redirect', 'bomb'];
/** The pause between two forged tokens with a valid API key. */
const FLOOD_INTERVAL_MS = 5;
/** The pause between two attempts of a caller with a token of a new key. */
const RETRY_INTERVAL_MS = 100;
/** Longer than RETRY_INTERVAL_MS of key-set.ts (5 s), so that an unknown key id causes a fetch immediately. */
const REST_MS = 6_000;

/**
 * Reports the failures of traffic while the issuer fails in each way of FAULTS, and while it rotates its keys.
 * @param seconds the duration of each failure
 */
export async function issuers(world: World, seconds = 20): Promise<string> {
  const { issuer, service, credentials } = world;
  service.ignoreLog();
  const stranger = await createSigningKey('ES256', 'stranger');
  const lines: string[] = [];
  const statusOf = async (token: string): Promise<number> => {
    const headers = { 'Api-Key': credentials.key, Authorization: `Bearer ${token}` };
    const response = await fetch(service.url + PATHS.orderUpdate, { headers });
    await response.arrayBuffer(); // otherwise the connection is not used again, and each request opens one
    return response.status;
  };

  const underTraffic = async (name: string, work: () => Promise<string>): Promise<void> => {
    const traffic = new Traffic(() => service.url, credentials, OPTIONS);
    const found = await work().catch(async (error: unknown) => {
      await traffic.stop(); // otherwise the requests go on while the world is closed
      throw error;
    });
    const report = await traffic.stop();
    lines.push(`${name}: ${found}${failuresIn(report)}`, ...report.failures.slice(0, 3));
  };

  /** Returns how long it takes until a token of a new key is accepted, and the answers before that. */
  const rotate = async (kid: string): Promise<string> => {
    await issuer.rotate(kid);
    const token = await issuer.createToken();
    const startedAtMs = performance.now();
    const refused: number[] = [];
    for (;;) {
      const status = await statusOf(token);
      if (status === 200) break;
      refused.push(status);
      await pause(RETRY_INTERVAL_MS);
    }
    const tookMs = Math.round(performance.now() - startedAtMs);
    const before = refused.length > 0 ? ` (before: ${[...new Set(refused)].join(', ')})` : '';
    return `a token of the new key got 200 after ${tookMs} ms${before}; `;
  };

  /** Does the work while somebody with a valid API key sends forged tokens, with an unknown key id or with none. */
  const besideForgedTokens = async (key: SigningKey, work: () => Promise<string>): Promise<string> => {
    const sent: Promise<number | string>[] = [];
    const timer = setInterval(() => {
      const kid = sent.length % 3 === 0 ? undefined : `forged-${sent.length}`;
      const token = issuer.createToken({ key, header: { kid } });
      // A rejection that nobody handles yet would end the process, and its PostgreSQL would go on running
      sent.push(token.then(statusOf).catch(toMessage));
    }, FLOOD_INTERVAL_MS);
    await pause((seconds / 2) * 1000);
    const found = await work();
    await pause((seconds / 2) * 1000);
    clearInterval(timer);
    const counts = new Map<number | string, number>();
    for (const outcome of await Promise.all(sent)) {
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    }
    const forged = Array.from(counts, ([outcome, count]) => `${count} times ${outcome}`).join(', ');
    return `${found}forged tokens: ${forged}; `;
  };

  for (const fault of FAULTS) {
    issuer.fault = fault;
    await underTraffic(`issuer ${fault} for ${seconds} s`, async () => {
      await pause(seconds * 1000);
      return '';
    });
  }
  issuer.fault = 'none';
  await until(async () => (await statusOf(await issuer.createToken())) === 200);
  await pause(REST_MS);
  await underTraffic('rotation without a warning', () => rotate('unannounced'));
  await pause(REST_MS);
  const fetchesBefore = issuer.keySetHitsMs.length;
  await underTraffic(`rotation beside ${1000 / FLOOD_INTERVAL_MS} forged tokens a second with a valid key`, () =>
    besideForgedTokens(stranger, () => rotate('beside-a-flood')),
  );
  const times = issuer.keySetHitsMs.slice(fetchesBefore);
  const pauses = times.slice(1).map((timeMs, index) => timeMs - (times[index] ?? 0));
  const least = (Math.min(...pauses) / 1000).toFixed(1);
  lines.push(`fetches of the key set meanwhile: ${times.length}, ${least} s apart at least`);
  return lines.join('\n');
}
