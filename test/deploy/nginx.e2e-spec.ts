import { gunzipSync } from 'node:zlib';
import { once } from 'node:events';
import { type IncomingHttpHeaders, get } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../support/postgres-server.js';
import { Nginx, hasNginx } from '../support/nginx.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';
import { type RawResponse, exchange } from '../support/raw.js';
import { RunningService } from '../support/service.js';
import { Traffic, entityTagOf } from '../support/traffic.js';
import { World } from '../support/world.js';

/** Enough for an answer of 500 kB, which is larger than nginx's buffers. */
const CODES = 5_000;

let world: World;
let nginx: Nginx;
let port: number;
let restarted: RunningService;
let neverReady: RunningService;
let credentials: Record<string, string>;

if (!hasNginx)
  process.stderr.write('SKIPPED: the test of deploy/nginx needs nginx, and there is none.\n');
const describeWithNginx = hasNginx ? describe : describe.skip;

const start = (environment: Record<string, string>): Promise<RunningService> =>
  RunningService.start({
    DATABASE_URL: world.database.urlOf('order_lookup_service'),
    ...world.issuer.environment,
    ...environment,
  });

interface Reply {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  /** As it came, not decoded. */
  readonly body: Buffer;
}

function ask(path: string, headers: Record<string, string> = {}): Promise<Reply> {
  return new Promise((resolve, reject) => {
    get(nginx.url + path, { headers: { ...credentials, ...headers } }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).once('error', reject);
      response.once('end', () =>
        resolve({
          status: response.statusCode,
          headers: response.headers,
          body: Buffer.concat(chunks),
        }),
      );
    }).once('error', reject);
  });
}

function expectRefusal(
  responses: readonly RawResponse[],
  status: number,
  slug: string,
  title: string,
): void {
  const refused = responses.find(({ text }) => text.includes(slug));
  expect(JSON.parse(refused?.text ?? '{}')).toMatchObject({
    type: `/problems/${slug}`,
    title,
    status,
  });
  expect([refused?.status, refused?.headers.get('retry-after')]).toEqual([status, '1']);
}

describeWithNginx('replicas behind deploy/nginx, one of them never ready', () => {
  beforeAll(async () => {
    world = await World.create({}, (database) =>
      database.query(
        `insert into communication_code select 'SAMPLE-' || n % 10, 'C' || n, 'Sample: a description of ordinary length ' || n from generate_series(1, ${CODES}) as n`,
      ),
    );
    credentials = { 'Api-Key': world.key.key, Authorization: `Bearer ${world.token}` };
    port = await freePort();
    [restarted, neverReady] = await Promise.all([
      start({ PORT: String(port) }),
      start({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }),
    ]);
    await restarted.ready();
    nginx = await Nginx.start([world.service.port, port, neverReady.port]);
  });
  afterAll(async () => {
    await nginx?.stop();
    await Promise.all([restarted, neverReady].map((replica) => replica?.kill()));
    await world?.close();
  });

  it.each(ALL_PATHS)(
    '%s: the tag that nginx makes weak when it compresses gives 304, from every replica',
    async (path) => {
      const plain = await ask(path);
      expect(plain.headers['etag']).toBe(entityTagOf(plain.body));
      const accept = { 'Accept-Encoding': 'gzip' };
      for (let turn = 0; turn < 3; turn++) {
        const coded = await ask(path, accept);
        expect(coded.headers).toMatchObject({
          'content-encoding': 'gzip',
          vary: expect.stringContaining('Accept-Encoding'),
        });
        expect(gunzipSync(coded.body).equals(plain.body)).toBe(true);
        for (let replica = 0; replica < 3; replica++) {
          const again = await ask(path, {
            ...accept,
            'If-None-Match': coded.headers['etag'] ?? '',
          });
          expect([again.status, again.body.length]).toEqual([304, 0]);
        }
      }
    },
  );

  it('no request fails while a replica is killed, started, and stopped in order', async () => {
    const { key, token, service } = world;
    const traffic = new Traffic(() => nginx.url, { key: key.key, token }, { perSecond: 50 });
    await restarted.kill();
    restarted = await start({ PORT: String(port) });
    await restarted.ready();
    service.signal('SIGTERM');
    await service.exited();
    const { failures, asked } = await traffic.stop();
    expect(failures).toEqual([]);
    expect(asked).toBeGreaterThan(50);
  });

  it('keeps its connections to the replicas', async () => {
    expect(await restarted.metric('order_lookup_connections')).toBeGreaterThan(0);
  });

  it.each([
    ['no replica answers', `GET ${PATHS.orderUpdate} HTTP/1.1`, 503, 'Service Unavailable'],
    ['it cannot read the request', 'GARBAGE', 400, 'Bad Request'],
    [
      'the target is beyond its buffers',
      `GET /${'x'.repeat(40_000)} HTTP/1.1`,
      414,
      'URI Too Long',
    ],
    ['it knows the method to be forbidden', 'TRACE / HTTP/1.1', 405, 'Method Not Allowed'],
    ['it does not know the version', 'GET / HTTP/2.0', 505, 'HTTP Version Not Supported'],
    [
      'it does not know the transfer coding',
      'GET / HTTP/1.1\r\nTransfer-Encoding: gzip',
      501,
      'Not Implemented',
    ],
  ])('answers with a problem document where %s', async (_, requestLine, status, title) => {
    await Promise.all([restarted.kill(), neverReady.kill()]);
    const { responses } = await exchange(
      Number(new URL(nginx.url).port),
      `${requestLine}\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`,
    );
    const [{ headers, text, ...answered }] = responses as [RawResponse];
    expect(answered).toEqual({ status });
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      ...(status === 503 ? { 'retry-after': '1' } : {}),
    });
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
    const request = 'GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n';
    const target = Number(new URL(nginx.url).port);
    const { responses } = await exchange(target, request.repeat(400), { answers: 400 });
    expectRefusal(responses, 429, 'too-many-requests', 'Too many requests');
    expect((await ask(PATHS.orderUpdate)).status).not.toBe(429);
  });

  it('limits the connections of strangers on which a request is under way', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const front = await Nginx.start([(silent.address() as AddressInfo).port]);
    const request = 'GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    const replies = await Promise.all(
      Array.from({ length: 60 }, () => exchange(Number(new URL(front.url).port), request)),
    );
    await front.stop();
    silent.close();
    const responses = replies.flatMap((reply) => reply.responses);
    expectRefusal(responses, 503, 'overloaded', 'The service is overloaded');
  });

  it('writes no query into its log, where a key may be by mistake', async () => {
    await ask(`${PATHS.orderUpdate}?Api-Key=${world.key.key}`);
    expect(nginx.log).toContain(`"path":"${PATHS.orderUpdate}"`);
    expect(nginx.log).not.toContain(world.key.key);
  });
});
