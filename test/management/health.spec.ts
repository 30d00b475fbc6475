// Tests readiness and metrics with issuers that have no usable keys, or give no answer.
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import type { ApiKeysService } from '../../src/auth/api-keys/api-keys.service.js';
import type { Draining } from '../../src/http/draining.js';
import type { CodesService } from '../../src/lookups/codes.service.js';
import { HealthService } from '../../src/management/health.service.js';
import { Issuer } from '../support/issuer.js';
import { Verifier } from '../support/verifier.js';

const TOPIC = { value: new Map() };
const CODES = { topic: TOPIC } as unknown as CodesService;
const API_KEYS = { topic: TOPIC, secondsUntilRefusal: 900 } as unknown as ApiKeysService;

let source: Issuer;
let other: Issuer;
beforeAll(async () => {
  source = await Issuer.start();
  other = await Issuer.start();
});
afterAll(() => Promise.all([source.close(), other.close()]));
beforeEach(() => Verifier.replaceClock());
afterEach(() => {
  source.fault = 'none';
  other.fault = 'none';
  jest.restoreAllMocks();
  jest.useRealTimers();
});

async function startAndObserve(verifier: Verifier) {
  const { issuers, metrics } = await verifier.start();
  const health = new HealthService(CODES, API_KEYS, issuers, { isDraining: false } as Draining, metrics);
  return { health, metricsText: await metrics.registry.metrics() };
}

const noKeyOf = ({ url }: Issuer): string => `No key that ${url} publishes can verify a token.`;
const notFetched = ({ url }: Issuer): string => `The signing keys of ${url} were not fetched yet.`;

it('the service is not ready while no issuer has a usable key', async () => {
  source.fault = 'empty set';
  other.fault = 'empty set';
  const verifier = new Verifier([source, other]);
  const { health, metricsText } = await startAndObserve(verifier);
  expect(health.unavailableReasons).toEqual([`${noKeyOf(source)} ${noKeyOf(other)}`]);
  expect(metricsText).toContain(`refusal{what="signing-keys",issuer="${source.url}"} 0\n`);
  expect(metricsText).toContain(`jwks_keys{issuer="${source.url}"} 0\n`);
  expect(await verifier.findStatus(await source.createToken())).toBe(401);
  source.fault = 'none';
  await verifier.pass(5); // RETRY_INTERVAL_MS of key-set.ts: by now both issuers were asked again
  expect(health.isReady).toBe(true);
  expect(await verifier.findStatus(await source.createToken())).toBe(200);
});

it('the service is ready if one issuer has keys, although another has none', async () => {
  source.fault = 'empty set';
  const { health } = await startAndObserve(new Verifier([source, other]));
  expect(health.isReady).toBe(true);
});

it('the reasons name both an issuer with an empty key set and an issuer that never answered', async () => {
  source.fault = 'empty set';
  other.fault = 'down';
  const { health } = await startAndObserve(new Verifier([source, other]));
  expect(health.unavailableReasons).toEqual([`${noKeyOf(source)} ${notFetched(other)}`]);
});

it('if one of two issuers is down, the service is ready, and seconds_until_refusal is 0 only for this one', async () => {
  other.fault = 'down';
  const { health, metricsText } = await startAndObserve(new Verifier([source, other]));
  expect(health.isReady).toBe(true);
  expect(metricsText).toContain(`refusal{what="signing-keys",issuer="${source.url}"} 86400\n`); // MAX_AGE_SECONDS
  expect(metricsText).toContain(`refusal{what="signing-keys",issuer="${other.url}"} 0\n`);
});
