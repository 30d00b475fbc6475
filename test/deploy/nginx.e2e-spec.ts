import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Nginx, hasNginx } from '../support/nginx.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';
import { freePort } from '../support/postgres-server.js';
import { type RawResponse, exchange } from '../support/raw.js';
import type { RunningService } from '../support/service.js';
import { Traffic } from '../support/traffic.js';
import { World } from '../support/world.js';

/** Enough for an answer of 500 kB, which is larger than nginx's buffers. */
const CODES = 5_000;

let world: World;
let nginx: Nginx;
let port: string;
let restarted: RunningService;
let neverReady: RunningService;

if (!hasNginx)
  process.stderr.write('SKIPPED: the test of deploy/nginx needs nginx, and there is none.\n');
const describeWithNginx = hasNginx ? describe : describe.skip;

const ask = (path: string, headers: Record<string, string>): Promise<Response> =>
  fetch(nginx.url + path, { headers: { ...world.headers, ...headers } });
const send = (text: string, { url }: Nginx = nginx, options = {}) =>
  exchange(Number(new URL(url).port), text, options);

/** How nginx refused one of the requests, without what is new in each document. */
function refusalIn(responses: readonly RawResponse[]): object {
  const refused = responses.find(({ text: body }) => body.includes('/problems/'));
  const { type, title } = JSON.parse(refused?.text ?? '{}') as Record<string, string>;
  return { status: refused?.status, type, title };
}

describeWithNginx('replicas behind deploy/nginx, one of them never ready', () => {
  beforeAll(async () => {
    world = await World.create({}, (database) => database.addCodes(CODES));
    port = String(await freePort());
    restarted = await world.replica({ PORT: port });
    neverReady = await world.start({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' });
    nginx = await Nginx.start([world.service.port, restarted.port, neverReady.port]);
  });
  afterAll(async () => {
    await nginx?.stop();
    await world?.close();
  });

  it.each(ALL_PATHS)(
    '%s: a compressed answer is whole, and its tag gives 304 from every replica',
    async (path) => {
      const plain = await ask(path, { 'Accept-Encoding': 'identity' });
      const coded = await ask(path, { 'Accept-Encoding': 'gzip' });
      expect(coded.headers.get('content-encoding')).toBe('gzip');
      expect(coded.headers.get('vary')).toContain('Accept-Encoding');
      expect(await coded.text()).toBe(await plain.text());
      const etag = coded.headers.get('etag') ?? '';
      for (let replica = 0; replica < 3; replica++)
        expect((await ask(path, { 'If-None-Match': etag })).status).toBe(304);
    },
  );

  it('no request fails while a replica is killed, started, and stopped in order', async () => {
    const traffic = new Traffic(() => nginx.url, world.credentials, { perSecond: 50 });
    await restarted.kill();
    restarted = await world.replica({ PORT: port });
    world.service.signal('SIGTERM');
    await world.service.exited();
    const { failures, asked } = await traffic.stop();
    expect(failures).toEqual([]);
    expect(asked).toBeGreaterThan(50);
  });

  it.each([
    ['no replica answers', `GET ${PATHS.orderUpdate} HTTP/1.1`, 503, 'Service Unavailable'],
    ['it cannot read the request', 'GARBAGE', 400, 'Bad Request'],
    ['the target is too long', `GET /${'x'.repeat(40_000)} HTTP/1.1`, 414, 'URI Too Long'],
    ['it forbids the method', 'TRACE / HTTP/1.1', 405, 'Method Not Allowed'],
    ['it does not know the version', 'GET / HTTP/2.0', 505, 'HTTP Version Not Supported'],
  ])('answers with a problem document where %s', async (_, requestLine, status, title) => {
    await Promise.all([restarted.kill(), neverReady.kill()]);
    const { responses } = await send(`${requestLine}\r\nHost: x\r\nConnection: close\r\n\r\n`);
    const [{ headers, text, ...answered }] = responses as [RawResponse];
    expect(answered).toEqual({ status });
    expect(headers.get('content-type')).toBe('application/problem+json');
    expect(headers.get('retry-after')).toBe(status === 503 ? '1' : null);
    expect(JSON.parse(text)).toEqual({
      type: 'about:blank',
      title,
      status,
      detail: expect.any(String),
      instance: `urn:uuid:${headers.get('x-request-id')}`,
      dateTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/),
    });
  });

  it('limits the requests of strangers, and not those of callers', async () => {
    const request = 'GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(400);
    const { responses } = await send(request, nginx, { answers: 400 });
    const type = '/problems/too-many-requests';
    expect(refusalIn(responses)).toEqual({ status: 429, type, title: 'Too many requests' });
    expect((await ask(PATHS.orderUpdate, {})).status).not.toBe(429);
  });

  it('limits the connections of strangers on which a request is under way', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const front = await Nginx.start([(silent.address() as AddressInfo).port]);
    const request = 'GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    const sent = Array.from({ length: 60 }, () => send(request, front));
    const { responses } = await Promise.race(sent);
    const [type, title] = ['/problems/overloaded', 'The service is overloaded'];
    expect(refusalIn(responses)).toEqual({ status: 503, type, title });
    silent.close();
    await Promise.all([front.stop(), Promise.allSettled(sent)]);
  });

  it('writes no query into its log, where a key may be by mistake', async () => {
    await ask(`${PATHS.orderUpdate}?Api-Key=${world.key.key}`, {});
    expect(nginx.log).toContain(`"path":"${PATHS.orderUpdate}"`);
    expect(nginx.log).not.toContain(world.key.key);
  });
});
