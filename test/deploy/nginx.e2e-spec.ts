// nginx with the configuration of deploy/nginx, before services that most of these tests run in their own process.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type ProblemSlug, problemTypes } from '../../src/problems/problem-types.js';
import { issueKey } from '../support/keys.js';
import { type Front, withLongLimits } from '../support/balancers.js';
import { listen } from '../support/listen.js';
import type { LocalService } from '../support/local-service.js';
import { localWorld } from '../support/local-world.js';
import { hasNginx, startNginx } from '../support/nginx.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';
import { freePort } from '../support/postgres-server.js';
import { type Reply, exchange } from '../support/raw.js';
import { requestTo } from '../support/reader.js';
import type { ReachableService } from '../support/reachable-service.js';
import { Traffic } from '../support/traffic.js';
import { until } from '../support/until.js';

/** Enough for an answer of 500 kB, which is larger than nginx's buffers. */
const CODES = 5_000;
const ANSWERED = 'order_lookup_http_requests_total';

const world = localWorld({
  environment: { DRAIN_SECONDS: '1' },
  prepare: (database) => database.addCodes(CODES),
});
let nginx: Front;

if (!hasNginx) process.stderr.write('SKIPPED: tests of deploy/nginx need nginx and libnginx-mod-http-lua.\n');
const describeWithNginx = hasNginx ? describe : describe.skip;

const ask = (path: string, headers: Record<string, string>): Promise<Response> =>
  fetch(nginx.url + path, { headers: { ...world.headers, ...headers } });
const send = (text: string, { url }: Front = nginx, options = {}) => exchange(Number(new URL(url).port), text, options);

const flood = (path: string, headers: Record<string, string>) =>
  send(requestTo(path, headers).repeat(1_000), nginx, { answers: 1_000 });
const hostOf = ({ url }: ReachableService): string => new URL(url).host;

/** That one of the requests was refused in this way. */
function expectRefusal(responses: readonly Reply[], slug: ProblemSlug): void {
  const { status, title } = problemTypes[slug];
  const refused = responses.find((one) => one.status === status);
  expect(JSON.parse(refused?.text ?? '{}')).toMatchObject({
    type: `/problems/${slug}`,
    title,
    status,
  });
}

/** Once a minute: a machine that needs more than a second for a flood would never reach a limit of 50 a second. */
const withSlowRate = (configuration: string): string =>
  withLongLimits(configuration).replace('rate=50r/s', 'rate=1r/m');

describeWithNginx('strangers before deploy/nginx', () => {
  /** A new one for each test: after a flood all strangers are refused. */
  beforeEach(async () => {
    nginx = await startNginx([hostOf(world.service)], withSlowRate);
  });
  afterEach(() => nginx?.stop());

  const junk = { 'Api-Key': 'x', Authorization: 'Bearer x' };
  it.each<{ what: string; path: string; headers: Record<string, string> }>([
    { what: 'without headers', path: '/nothing', headers: {} },
    { what: 'with any text as credentials', path: PATHS.orderUpdate, headers: junk },
    {
      what: 'with any text as credentials, for an open page',
      path: '/problems/not-found',
      headers: junk,
    },
  ])('limits the requests of strangers $what, and not those of callers', async (stranger) => {
    expect((await ask(PATHS.orderUpdate, {})).status).toBe(200);
    const { responses } = await flood(stranger.path, stranger.headers);
    expectRefusal(responses, 'too-many-requests');
    const asked = Array.from({ length: 100 }, () => ask(PATHS.orderUpdate, {}));
    for (const { status } of await Promise.all(asked)) expect(status).toBe(200);
  });

  it('counts a key that is revoked as a stranger', async () => {
    const { key, id } = await issueKey(world.database);
    const headers = { ...world.headers, 'Api-Key': key };
    await until(async () => (await ask(PATHS.orderUpdate, headers)).status === 200);
    await world.database.query(`update api_key set revoked_at = now() where id = '${id}'`);
    await until(async () => (await ask(PATHS.orderUpdate, headers)).status === 401);
    const { responses } = await flood(PATHS.orderUpdate, headers);
    expectRefusal(responses, 'too-many-requests');
  });

  it('limits the connections of strangers on which a request is under way', async () => {
    const silent = createServer();
    const front = await startNginx([`127.0.0.1:${await listen(silent)}`], withLongLimits);
    const request = 'GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    const sent = Array.from({ length: 60 }, () => send(request, front));
    const { responses } = await Promise.race(sent);
    expectRefusal(responses, 'overloaded');
    silent.close();
    await Promise.all([front.stop(), Promise.allSettled(sent)]);
  });

  it('writes no query into its log, where a key may be by mistake', async () => {
    await ask(`${PATHS.orderUpdate}?Api-Key=${world.key.key}`, {});
    const log = readFileSync(join(nginx.folder, 'access.log'), 'utf8');
    expect(log).toContain(`"path":"${PATHS.orderUpdate}"`);
    expect(log).not.toContain(world.key.key);
  });

  it('passes the answer of the service on where a body does not arrive', async () => {
    const { responses } = await send(requestTo(PATHS.orderUpdate, { 'Transfer-Encoding': 'chunked' }), nginx, {
      answers: 1,
    });
    expectRefusal(responses, 'malformed-request');
  });
});

describeWithNginx('replicas behind deploy/nginx, one of them never ready', () => {
  let port: string;
  let restarted: ReachableService;
  let neverReady: LocalService;
  beforeAll(async () => {
    port = String(await freePort());
    restarted = await world.process({ PORT: port });
    await restarted.ready();
    neverReady = await world.start({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' });
    nginx = await startNginx([world.service, restarted, neverReady].map(hostOf), withLongLimits);
  });
  afterAll(() => nginx?.stop());

  it.each(ALL_PATHS)('%s: a compressed answer is whole, and its tag gives 304 from every replica', async (path) => {
    const plain = await ask(path, { 'Accept-Encoding': 'identity' });
    const coded = await ask(path, { 'Accept-Encoding': 'gzip' });
    expect(coded.headers.get('content-encoding')).toBe('gzip');
    expect(coded.headers.get('vary')).toContain('Accept-Encoding');
    expect(await coded.text()).toBe(await plain.text());
    const etag = coded.headers.get('etag') ?? '';
    for (let replica = 0; replica < 3; replica++) expect((await ask(path, { 'If-None-Match': etag })).status).toBe(304);
  });

  it('no request fails while a replica is killed, started, and stopped in order', async () => {
    const traffic = new Traffic(() => nginx.url, world.credentials, { perSecond: 50 });
    await until(async () => traffic.asked > 10);
    await restarted.kill();
    const again = await world.replica({ PORT: port });
    await until(async () => (await again.metric(ANSWERED)) > 0); // nginx uses it again
    await again.end();
    await until(async () => traffic.asked > 100);
    expect((await traffic.stop()).failures).toEqual([]);
  });

  describe('when none of them runs', () => {
    beforeAll(() => Promise.all([world.service.kill(), neverReady.kill()]));

    it.each<{ where: string; lines: string; slug: ProblemSlug }>([
      {
        where: 'no replica answers',
        lines: `GET ${PATHS.orderUpdate} HTTP/1.1`,
        slug: 'not-ready',
      },
      { where: 'it cannot read the request', lines: 'GARBAGE', slug: 'malformed-request' },
      { where: 'it does not know the version', lines: 'GET / HTTP/2.0', slug: 'malformed-request' },
      {
        where: 'it does not know the coding',
        lines: 'GET / HTTP/1.1\r\nTransfer-Encoding: x',
        slug: 'malformed-request',
      },
      { where: 'a target is its own', lines: 'GET /.problem HTTP/1.1', slug: 'not-found' },
      { where: 'it forbids the method', lines: 'TRACE / HTTP/1.1', slug: 'method-not-allowed' },
      {
        where: 'the target is too long',
        lines: `GET /${'x'.repeat(40_000)} HTTP/1.1`,
        slug: 'uri-too-long',
      },
      {
        where: 'a header is too long',
        lines: `GET / HTTP/1.1\r\nX: ${'x'.repeat(40_000)}`,
        slug: 'headers-too-large',
      },
    ])('answers with a problem document of the service where $where', async ({ lines, slug }) => {
      const { responses } = await send(`${lines}\r\nHost: x\r\nConnection: close\r\n\r\n`);
      const [{ headers, text, ...answered }] = responses as [Reply];
      const { status, title } = problemTypes[slug];
      expect(answered).toEqual({ status });
      expect(headers.get('content-type')).toBe('application/problem+json');
      expect(headers.get('retry-after')).toBe(status === 503 ? '1' : null);
      expect(headers.get('allow')).toBe(status === 405 ? 'GET, HEAD, OPTIONS' : null);
      expect(JSON.parse(text)).toEqual({
        type: `/problems/${slug}`,
        title,
        status,
        detail: expect.any(String),
        instance: `urn:uuid:${headers.get('x-request-id')}`,
        dateTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/),
      });
    });
  });
});
