// Runs nginx with deploy/nginx/nginx.conf in front of replicas. Most of the replicas run in the process of the test.
import { readFileSync } from 'node:fs';
import { type IncomingMessage, get } from 'node:http';
import { get as getSecurely } from 'node:https';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type ProblemSlug, problemTypes } from '../../src/problems/problem-types.js';
import { CertificateAuthority, hasOpenSsl } from '../support/certificates.js';
import { findFreePort, listen } from '../support/ports.js';
import { type Front, hasNginx, startNginx, withUnlimitedCaller, withLongTimeouts } from '../support/gateways.js';
import { localWorld } from '../support/local-world.js';
import { readBlocks } from '../support/pages.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';
import { type Reply, exchange } from '../support/exchange.js';
import { requestTo } from '../support/reader.js';
import type { ReachableService } from '../support/reachable-service.js';
import { Traffic } from '../support/traffic.js';
import { until } from '../support/until.js';
import { nextEvent } from '../support/waiting.js';

/** So many codes make an answer of 543 kB. nginx.conf has buffers of 524 kB for an answer (`proxy_buffers 16 32k`). */
const CODES = 5_000;
const ANSWERED = 'order_lookup_http_requests_total';

const world = localWorld({
  environment: { DRAIN_SECONDS: '1' },
  prepare: (database) => database.addCodes(CODES),
});
let nginx: Front;

if (!hasNginx) process.stderr.write('SKIPPED: tests of deploy/nginx need nginx.\n');
const describeWithNginx = hasNginx ? describe : describe.skip;

const ask = (path: string, headers: Record<string, string>): Promise<Response> =>
  fetch(nginx.url + path, { headers: { ...world.headers, ...headers } });
const send = (text: string, { url }: Front = nginx, options = {}) => exchange(Number(new URL(url).port), text, options);

/** More requests than `burst=200` of nginx.conf allows. */
const FLOOD_REQUESTS = 250;
/** More connections than `limit_conn connections 50` of nginx.conf allows. */
const FLOOD_CONNECTIONS = 60;
const flood = (path: string, headers: Record<string, string>) =>
  send(requestTo(path, headers).repeat(FLOOD_REQUESTS), nginx, { answers: FLOOD_REQUESTS });
const hostOf = ({ url }: ReachableService): string => new URL(url).host;

/** Asserts that at least one of the requests was refused with this problem document. */
function expectRefusal(responses: readonly Reply[], slug: ProblemSlug): void {
  const { status, title } = problemTypes[slug];
  const refused = responses.find((one) => one.status === status);
  expect(JSON.parse(refused?.text ?? '{}')).toMatchObject({
    type: `/problems/${slug}`,
    title,
    status,
  });
}

/** Sets the rate to one request a minute, because a slow machine never reaches the real rate of 50 a second. */
const withSlowRate = (configuration: string): string =>
  withLongTimeouts(configuration).replace('rate=50r/s', 'rate=1r/m');

async function statusFrom(localAddress: string, { url }: Front, headers = world.headers): Promise<number | undefined> {
  const request = get(url + PATHS.orderUpdate, { localAddress, headers, agent: false });
  const [response] = (await nextEvent(request, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

/** An address that nginx knows as a caller, and does not limit. */
const CALLER = '127.0.0.2';
const BALANCER = '127.0.0.3';
const FLOODING_CLIENT = '127.0.0.4';
const OTHER_CLIENT = '127.0.0.5';
/** The client whose address the flooding client writes into X-Forwarded-For. */
const IMPERSONATED_CLIENT = '127.0.0.6';

describeWithNginx('deploy/nginx', () => {
  // Each test has a new nginx, because after a flood nginx refuses the strangers for a long time
  beforeEach(async () => {
    nginx = await startNginx([hostOf(world.service)], (text) => withUnlimitedCaller(withSlowRate(text), CALLER));
  });
  afterEach(() => nginx?.stop());

  it.each<{ what: string; path: string; headers: Record<string, string> }>([
    { what: 'without headers', path: '/nothing', headers: {} },
    { what: 'with any text as credentials', path: PATHS.orderUpdate, headers: { 'Api-Key': 'x', Authorization: 'x' } },
    {
      what: 'that claim to come from a known address',
      path: '/problems/not-found',
      headers: { 'X-Forwarded-For': CALLER, 'X-Real-IP': CALLER },
    },
  ])('limits requests of strangers $what, and not requests of callers', async ({ path, headers }) => {
    const { responses } = await flood(path, headers);
    expectRefusal(responses, 'too-many-requests');
    const statuses = Array.from({ length: FLOOD_REQUESTS }, () => statusFrom(CALLER, nginx));
    expect(new Set(await Promise.all(statuses))).toEqual(new Set([200]));
  });

  it('limits how many connections of a stranger wait for an answer', async () => {
    const silent = createServer();
    const front = await startNginx([`127.0.0.1:${await listen(silent)}`], withLongTimeouts);
    const request = 'GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    const sent = Array.from({ length: FLOOD_CONNECTIONS }, () => send(request, front));
    const { responses } = await Promise.race(sent);
    expectRefusal(responses, 'too-many-requests');
    silent.close();
    await Promise.all([front.stop(), Promise.allSettled(sent)]);
  });

  it('writes no query into its log, because a query may contain a key by mistake', async () => {
    await ask(`${PATHS.orderUpdate}?Api-Key=${world.key.key}`, {});
    const readLog = (): string => readFileSync(join(nginx.folder, 'access.log'), 'utf8');
    // nginx writes the line after it has sent the answer
    await until(async () => readLog().includes(`"path":"${PATHS.orderUpdate}"`));
    expect(readLog()).not.toContain(world.key.key);
  });

  it('refuses the address and the API key that the lines of docs/balancers.md name', async () => {
    const block = readBlocks('docs/balancers.md').find(({ language }) => language === 'nginx')?.text ?? '';
    const lines = block.replace('192.0.2.7', OTHER_CLIENT).replace('ols_…', world.key.key);
    const front = await startNginx([hostOf(world.service)], (text) =>
      withLongTimeouts(text).replace('server_tokens off;', `server_tokens off;\n${lines}`),
    );
    expect(await statusFrom(CALLER, front)).toBe(403);
    const otherKey = { ...world.headers, 'Api-Key': 'x' };
    expect(await statusFrom(CALLER, front, otherKey)).toBe(401);
    expect(await statusFrom(OTHER_CLIENT, front, otherKey)).toBe(403);
    await front.stop();
  });

  it('behind a balancer limits each client by the address that the balancer saw, and not by a forged one', async () => {
    const service = await world.startReplica({ TRUSTED_PROXY_HOPS: '2' });
    await service.waitUntilReady();
    const inner = await startNginx([hostOf(service)], (text) =>
      withSlowRate(text)
        .replace('# set_real_ip_from 10.1.0.0/16', `set_real_ip_from ${BALANCER}`)
        .replace('# real_ip_header', 'real_ip_header'),
    );
    const outer = await startNginx([new URL(inner.url).host], (text) =>
      withLongTimeouts(text)
        .replace('rate=50r/s', 'rate=100000r/s')
        .replace('proxy_pass ', `proxy_bind ${BALANCER};\nproxy_pass `),
    );
    const forged = { ...world.headers, 'X-Forwarded-For': IMPERSONATED_CLIENT };
    const statuses = Array.from({ length: FLOOD_REQUESTS }, () => statusFrom(FLOODING_CLIENT, outer, forged));
    expect(new Set(await Promise.all(statuses))).toEqual(new Set([200, 429]));
    expect(await statusFrom(OTHER_CLIENT, outer)).toBe(200);
    expect(await statusFrom(IMPERSONATED_CLIENT, outer)).toBe(200);
    const findClients = (): Set<string> => {
      const lines = readFileSync(join(inner.folder, 'access.log'), 'utf8').match(/.*\n/g) ?? [];
      const asking = lines.filter((line) => line.includes(PATHS.orderUpdate));
      return new Set(asking.map((line) => (JSON.parse(line) as { client: string }).client));
    };
    await until(async () => findClients().size === 3);
    expect(findClients()).toEqual(new Set([FLOODING_CLIENT, OTHER_CLIENT, IMPERSONATED_CLIENT]));
    expect(await statusFrom(OTHER_CLIENT, outer, { ...forged, 'Api-Key': 'x' })).toBe(401);
    expect(await service.waitForLog(({ statusCode }) => statusCode === 401)).toMatchObject({ address: OTHER_CLIENT });
    await Promise.all([outer.stop(), inner.stop(), service.kill()]);
  });
});

if (!hasOpenSsl) process.stderr.write('SKIPPED: tests of TLS to deploy/nginx need openssl.\n');
const describeWithTls = hasNginx && hasOpenSsl ? describe : describe.skip;
describeWithTls('deploy/nginx with a certificate', () => {
  it('accepts TLS, and passes the request on by plain HTTP', async () => {
    const authority = new CertificateAuthority();
    const front = await startNginx([hostOf(world.service)], withLongTimeouts, authority.issue('nginx', 'IP:127.0.0.1'));
    const address = front.url.replace('http:', 'https:') + PATHS.orderUpdate;
    const request = getSecurely(address, { headers: world.headers, ca: readFileSync(authority.cert), agent: false });
    const [response] = (await nextEvent(request, 'response')) as [IncomingMessage];
    response.resume();
    expect(response.statusCode).toBe(200);
    await front.stop();
    authority.remove();
  });
});

describeWithNginx('replicas behind deploy/nginx, one of them never ready', () => {
  let port: string;
  let replicaToKill: ReachableService;
  beforeAll(async () => {
    port = String(await findFreePort());
    replicaToKill = await world.startReplicaProcess({ PORT: port });
    await replicaToKill.waitUntilReady();
    const neverReady = await world.startReplica({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' });
    nginx = await startNginx([world.service, replicaToKill, neverReady].map(hostOf), (text) =>
      withUnlimitedCaller(withLongTimeouts(text), '127.0.0.1'),
    );
  });
  afterAll(() => nginx?.stop());

  it.each(ALL_PATHS)(
    'give a complete compressed answer for %s, and 304 to its entity tag, whichever replica answers',
    async (path) => {
      const plain = await ask(path, { 'Accept-Encoding': 'identity' });
      const compressed = await ask(path, { 'Accept-Encoding': 'gzip' });
      expect(compressed.headers.get('content-encoding')).toBe('gzip');
      expect(compressed.headers.get('vary')).toContain('Accept-Encoding');
      expect(await compressed.text()).toBe(await plain.text());
      const etag = compressed.headers.get('etag') ?? '';
      for (let time = 0; time < 3; time++) expect((await ask(path, { 'If-None-Match': etag })).status).toBe(304);
    },
  );

  it.each(['swagger-ui.css', 'swagger-ui-bundle.js'])('give /docs/%s compressed', async (name) => {
    const { headers } = await ask(`/docs/${name}`, { 'Accept-Encoding': 'gzip' });
    expect(headers.get('content-encoding')).toBe('gzip');
  });

  it('answer every request while a replica is killed, started again, and shut down', async () => {
    const traffic = new Traffic(() => nginx.url, world.credentials, { perSecond: 50 });
    await until(async () => traffic.asked > 10);
    await replicaToKill.kill();
    const startedAgain = await world.startReadyReplica({ PORT: port });
    await until(async () => (await startedAgain.readMetric(ANSWERED)) > 0); // nginx uses the started replica again
    await startedAgain.end();
    await until(async () => traffic.asked > 100);
    expect((await traffic.stop()).failures).toEqual([]);
  });
});

describeWithNginx('deploy/nginx without a running replica', () => {
  beforeAll(async () => {
    nginx = await startNginx([`127.0.0.1:${await findFreePort()}`], (text) =>
      withUnlimitedCaller(withLongTimeouts(text), '127.0.0.1'),
    );
  });
  afterAll(() => nginx?.stop());

  it.each<{ where: string; lines: string; slug: ProblemSlug }>([
    {
      where: 'no replica answers',
      lines: `GET ${PATHS.orderUpdate} HTTP/1.1`,
      slug: 'not-ready',
    },
    { where: 'nginx cannot read the request', lines: 'GARBAGE', slug: 'malformed-request' },
    {
      where: 'a token is sent twice',
      lines: 'GET / HTTP/1.1\r\nAuthorization: a\r\nAuthorization: b',
      slug: 'malformed-request',
    },
    { where: 'nginx does not know the version of HTTP', lines: 'GET / HTTP/2.0', slug: 'malformed-request' },
    {
      where: 'nginx does not know the transfer coding',
      lines: 'GET / HTTP/1.1\r\nTransfer-Encoding: x',
      slug: 'malformed-request',
    },
    { where: 'the target is an internal path of nginx', lines: 'GET /.problem HTTP/1.1', slug: 'not-found' },
    { where: 'nginx refuses the method', lines: 'TRACE / HTTP/1.1', slug: 'method-not-allowed' },
    {
      where: 'the target is too long',
      lines: `GET /${'x'.repeat(40_000)} HTTP/1.1`,
      slug: 'headers-too-large',
    },
    {
      where: 'a header is too long',
      lines: `GET / HTTP/1.1\r\nX: ${'x'.repeat(40_000)}`,
      slug: 'headers-too-large',
    },
  ])('answers with a problem document like those of the service if $where', async ({ lines, slug }) => {
    const { responses } = await send(`${lines}\r\nHost: x\r\nConnection: close\r\n\r\n`);
    const [{ status: answeredStatus, headers, text }] = responses as [Reply];
    const { status, title } = problemTypes[slug];
    expect(answeredStatus).toBe(status);
    expect(headers.get('content-type')).toBe('application/problem+json');
    expect(headers.get('retry-after')).toBe(status === 503 ? '1' : null);
    expect(headers.get('allow')).toBe(status === 405 ? 'GET, HEAD, OPTIONS' : null);
    expect(JSON.parse(text)).toEqual({
      type: `/problems/${slug}`,
      title,
      status,
      // nginx.conf has one detail for all malformed requests, and another one for all other errors
      detail: expect.stringMatching(
        slug === 'malformed-request' ? /Authorization, .* sent twice/ : /no replica answered/,
      ),
      instance: `urn:uuid:${headers.get('x-request-id')}`,
      dateTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/),
    });
  });
});
