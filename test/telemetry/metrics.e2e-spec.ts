import { expect, it } from '@jest/globals';
import { generateApiKey } from '../../src/auth/api-keys/api-key.js';
import { version } from '../../src/telemetry/version.js';
import { fetchReply } from '../support/exchange.js';
import { listMetrics } from '../support/metrics.js';
import { localWorld } from '../support/local-world.js';
import type { LocalService } from '../support/local-service.js';
import { PATHS } from '../support/paths.js';
import { SAMPLE_COUNT } from '../support/world.js';

/** The default of API_KEY_MAX_AGE_SECONDS, and MAX_AGE_SECONDS of key-set.ts. */
const DAY_SECONDS = 86_400;
const UNREACHABLE_DATABASE = 'postgres://order_lookup_service:secret@127.0.0.1:1/none';
const world = localWorld();

async function readMetrics(service: LocalService): Promise<string> {
  const { text } = await fetchReply(`${service.managementUrl}/metrics`);
  return text;
}

/** Returns the values of all series of the service, by name and labels. */
async function scrape(service: LocalService): Promise<Map<string, number>> {
  const text = await readMetrics(service);
  const lines = text.split('\n').filter((line) => line.startsWith('order_lookup_'));
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(' ');
      const series = line.slice('order_lookup_'.length, end);
      return [series, Number(line.slice(end + 1).replace('+Inf', 'Infinity'))];
    }),
  );
}

it.each([
  { series: 'ready', value: 1 },
  { series: `build_info{version="${version}"}`, value: 1 },
  { series: 'database_up', value: 1 },
  { series: 'communication_codes', value: SAMPLE_COUNT },
  { series: 'next_moment_timestamp_seconds', value: 0 },
  { series: 'snapshot_reloads_total{topic="codes",result="loaded"}', value: 1 },
  { series: 'snapshot_reloads_total{topic="keys",result="loaded"}', value: 1 },
  { series: 'log_lines_dropped_total', value: 0 },
])('a replica that answers shows the value $value for $series', async ({ series, value }) => {
  expect((await scrape(world.service)).get(series)).toBe(value);
});

it('the metrics have the names, labels and helps on which dashboards and people rely', async () => {
  const metrics = await listMetrics();
  const ours = metrics.filter(({ name }) => name.startsWith('order_lookup_'));
  const rows = ours.map(({ name, type, labelNames, help }) => [
    `${type} ${[name.slice('order_lookup_'.length), ...labelNames].join(' ')}`,
    help,
  ]);
  expect(Object.fromEntries(rows)).toEqual({
    'counter http_requests_total operation status': 'Answers',
    'histogram http_request_duration_seconds operation': 'Time to answer a request',
    'counter client_requests_total client status':
      'Answers by the client of the API key. The first 1000 clients have their names, all others are called other',
    'counter credentials_refused_total credential reason': 'Credentials refused',
    'counter connections_refused_total limit':
      'Connections closed because the process (limit="connections") or one connection (limit="waiting-requests") ' +
      'had reached its limit',
    'counter snapshot_reloads_total topic result':
      'Attempts to read codes or keys; the result is loaded or failed. While the database is away, there are none',
    'counter moments_switched_total': 'How often a request found that codes had begun or ended since the last request',
    'counter tokens_verified_total':
      'Access tokens that were checked, accepted or not; remembered tokens are not checked again',
    'counter log_lines_dropped_total': 'Log lines that the reader of standard output did not take',
    'gauge jwks_age_seconds issuer':
      'Seconds since the keys of an issuer were last fetched; there is no series before the first fetch',
    'gauge jwks_keys issuer': 'Keys of an issuer that can verify a token now',
    'gauge clock_offset_seconds':
      "How far the machine's clock is ahead of the database's; negative if behind, 0 if not known yet",
    'gauge snapshot_age_seconds topic': 'Seconds since the database last confirmed the revision that is served',
    'gauge served_since_timestamp_seconds topic': 'When this process began to serve the present revision',
    'gauge database_up': '1 while the database answers',
    'gauge connections': 'Open connections on the port of the API',
    'gauge next_key_expiry_seconds':
      'Seconds until the next valid API key expires or is revoked; +Inf if no valid key does',
    'gauge communication_codes': 'Communication codes in force',
    'gauge next_moment_timestamp_seconds': 'The next time at which a code begins or ends; 0 if there is none',
    'gauge ready': '1 while callers can be answered',
    'gauge seconds_until_refusal what issuer':
      'Seconds until API keys (what="keys"), or the signing keys of an issuer, are too old to be used; ' +
      '0 if they are too old or missing. There is no series for API keys before their first reading',
    'gauge build_info version': 'Always 1, with the version of the service',
  });
});

it('a replica shows the age of codes, API keys and signing keys, and for how long it may use the keys', async () => {
  const nowSeconds = Date.now() / 1000;
  const values = await scrape(world.service);
  const valueOf = (series: string): number => {
    expect([...values.keys()]).toContain(series);
    return values.get(series) ?? NaN;
  };
  for (const topic of ['codes', 'keys']) {
    const age = valueOf(`snapshot_age_seconds{topic="${topic}"}`);
    expect(age).toBeGreaterThan(0);
    expect(age).toBeLessThan(600);
    const since = valueOf(`served_since_timestamp_seconds{topic="${topic}"}`);
    expect(Math.abs(nowSeconds - since)).toBeLessThan(600);
  }
  expect(Math.abs(valueOf('clock_offset_seconds'))).toBeLessThan(5);
  const issuer = `{issuer="${world.issuer.url}"}`;
  expect(valueOf(`jwks_keys${issuer}`)).toBe(world.issuer.keys.length);
  expect(valueOf(`jwks_age_seconds${issuer}`)).toBeGreaterThan(0);
  expect(valueOf(`jwks_age_seconds${issuer}`)).toBeLessThan(600);
  const keysLeft = valueOf('seconds_until_refusal{what="keys"}');
  expect(keysLeft).toBeGreaterThan(0.9 * DAY_SECONDS);
  expect(keysLeft).toBeLessThan(DAY_SECONDS);
  const signingKeysLeft = valueOf(`seconds_until_refusal{what="signing-keys",issuer="${world.issuer.url}"}`);
  expect(signingKeysLeft).toBeGreaterThan(0.9 * DAY_SECONDS);
  expect(signingKeysLeft).toBeLessThan(DAY_SECONDS);
});

it('a replica counts requests, clients, refusals and verified tokens without naming a credential', async () => {
  const service = await world.startReadyReplica();
  const strangersKey = generateApiKey();
  const expiredToken = await world.issuer.createToken({ claims: { exp: 1 } });
  await world.get(PATHS.orderUpdate, { service });
  await world.get(PATHS.orderUpdate, { headers: { 'Api-Key': strangersKey }, service });
  const headers = { Authorization: `Bearer ${expiredToken}` };
  await world.get(PATHS.orderUpdate, { headers, service });
  await world.get(`/${world.key.key}?${world.token}`, { service });
  const values = await scrape(service);
  expect(Object.fromEntries(values)).toMatchObject({
    [`http_requests_total{operation="${PATHS.orderUpdate}",status="200"}`]: 1,
    [`http_requests_total{operation="${PATHS.orderUpdate}",status="401"}`]: 2,
    'http_requests_total{operation="none",status="404"}': 1,
    [`http_request_duration_seconds_count{operation="${PATHS.orderUpdate}"}`]: 3,
    'client_requests_total{client="test",status="200"}': 1,
    'credentials_refused_total{credential="api_key",reason="unknown"}': 1,
    'credentials_refused_total{credential="access_token",reason="expired"}': 1,
    tokens_verified_total: 2, // the valid and the expired token, but not the token beside a refused key
  });
  const sum = values.get(`http_request_duration_seconds_sum{operation="${PATHS.orderUpdate}"}`);
  expect(sum).toBeGreaterThan(0);
  const tokenParts = [world.token, expiredToken].flatMap((token) => token.split('.'));
  const text = await readMetrics(service);
  for (const secret of [world.key.id, world.key.key, strangersKey, ...tokenParts]) {
    expect(text).not.toContain(secret);
  }
});

it('a replica that waits for the database is not ready, and shows no age of content that it never read', async () => {
  const service = await world.startReplica({ DATABASE_URL: UNREACHABLE_DATABASE });
  await service.waitForLog(({ msg }) => msg === 'database (codes): failed, callers are refused');
  const values = await scrape(service);
  expect(values.get('ready')).toBe(0);
  expect(values.get('database_up')).toBe(0);
  expect(values.get('communication_codes')).toBe(0);
  const agesOfContent = [...values.keys()].filter((series) => /^(snapshot_age|served_since)/.test(series));
  expect(agesOfContent).toEqual([]);
});
