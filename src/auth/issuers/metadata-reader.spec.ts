import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { ServiceLogger } from '../../telemetry/service-logger.js';
import { discover } from './discovery.js';
import { MetadataReader } from './metadata-reader.js';

const ISSUER = 'https://issuer.example';
const METADATA = { issuer: ISSUER, jwks_uri: `${ISSUER}/keys` };

/** What the issuer answers; undefined where it publishes no metadata. */
let published: object | undefined;
let requests: number;
let lines: { level: string; message: string }[];

beforeEach(() => {
  jest.useFakeTimers();
  published = undefined;
  requests = 0;
  lines = [];
  jest.spyOn(globalThis, 'fetch').mockImplementation(async () => {
    requests += 1;
    return published ? Response.json(published) : new Response('', { status: 404 });
  });
});
afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

function start({ areNeeded = false } = {}): MetadataReader {
  const log = (level: string) => (entry: { message: string }) => lines.push({ level, ...entry });
  const logger = { log: log('info'), warn: log('warn'), debug: log('debug') };
  return new MetadataReader({
    issuer: ISSUER,
    areNeeded,
    OAUTH_ALLOW_HTTP: false,
    logger: logger as unknown as ServiceLogger,
  });
}

it('asks an issuer without metadata, whose key set is configured, once a minute at most', async () => {
  const reader = start();
  for (let fetch = 0; fetch < 12; fetch++) {
    await reader.update();
    reader.keySetFailed();
    jest.advanceTimersByTime(5_000);
  }
  expect(requests).toBe(2); // the two addresses of metadata
  await reader.update();
  expect(requests).toBe(4);
  expect(lines).toEqual([expect.objectContaining({ level: 'debug', message: expect.stringContaining('no metadata') })]);
});

it('asks again with each fetch while metadata are needed, and says nothing itself', async () => {
  const reader = start({ areNeeded: true });
  await reader.update();
  await reader.update();
  expect(requests).toBe(4);
  expect(reader.error).toBeInstanceOf(Error);
  expect(lines).toEqual([]);
});

it('reads known metadata every eight minutes, at once after the key set failed, and keeps them', async () => {
  published = METADATA;
  const reader = start({ areNeeded: true });
  await reader.update();
  await reader.update();
  expect(requests).toBe(1);
  jest.advanceTimersByTime(8 * 60_000);
  await reader.update();
  reader.keySetFailed();
  published = undefined;
  await reader.update();
  await reader.update();
  expect(requests).toBe(4);
  expect(reader.metadata?.jwks_uri).toBe(METADATA.jwks_uri);
  expect(lines).toMatchObject([{ level: 'warn' }]);
});

it.each([
  { document: {}, fault: `/openid-configuration names no issuer: it is no metadata document` },
  { document: [], fault: 'names no issuer' },
  {
    document: { ...METADATA, issuer: `${ISSUER}/` },
    fault: `names the issuer "${ISSUER}/", not ${ISSUER}: OAUTH_ISSUER has to be the exact iss of its tokens`,
  },
  {
    document: { ...METADATA, jwks_uri: 'http://issuer.example/keys' },
    fault: 'OAUTH_ALLOW_HTTP=true on a test network',
  },
])('says what is wrong with $document, and what to do', async ({ document, fault }) => {
  published = document;
  await expect(discover(ISSUER, { OAUTH_ALLOW_HTTP: false })).rejects.toThrow(fault);
});

it('says what an issuer needs that is only a name', async () => {
  const discovery = discover('accounts', { OAUTH_ALLOW_HTTP: false });
  await expect(discovery).rejects.toThrow(
    'accounts is no address with metadata: OAUTH_JWKS_URI has to hold its key set',
  );
  expect(requests).toBe(0);
});
