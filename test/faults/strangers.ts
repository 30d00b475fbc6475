import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { generateApiKey } from '../../src/auth/api-keys/api-key.js';
import { generate } from '../bench/generate.js';
import { residentMebibytes } from '../support/linux-process.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';
import { requestTo } from '../support/reader.js';
import { RunningService } from '../support/service.js';
import { World } from '../support/world.js';
import { Traffic, type TrafficReport, WITHIN_A_SECOND } from '../support/traffic.js';
import { quantiles } from './figures.js';

const GOOD = {
  ...WITHIN_A_SECOND,
  perSecond: 500,
  mix: ALL_PATHS.map((path) => ({ path, status: 200 })),
};
const FORGED_PER_SECOND = 3_000;
/** Fewer than the silent connections that are opened. */
const DESCRIPTORS = 1_024;
const PAGE = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n';
const GARBAGE = Buffer.alloc(1 << 20, 'garbage ');
const PIPELINED = 50;
const LIMIT_MS = 10_000;

/** The attacks of hardening.md ("Strangers"), each for so many seconds, beside 500 good requests a second; and what these notice. */
export async function strangers(seconds = 10): Promise<string> {
  const stage = await World.apart(0);
  const { issuer, credentials, database } = stage;
  const environment = {
    DATABASE_URL: database.urlOf('order_lookup_service'),
    ...issuer.environment,
  };
  const service = await RunningService.start(environment, { descriptors: DESCRIPTORS });
  stage.replicas.push(service);
  await service.ready();
  service.ignoreLog();
  const sockets: Socket[] = [];
  const open = async (): Promise<Socket> => {
    const socket = connect(service.port, '127.0.0.1').on('error', () => undefined);
    sockets.push(socket);
    await Promise.race([once(socket, 'connect'), once(socket, 'close'), pause(LIMIT_MS)]);
    return socket;
  };
  const isOver = (): (() => boolean) => {
    const deadline = performance.now() + seconds * 1000;
    return () => performance.now() >= deadline;
  };
  const [, claims] = credentials.token.split('.');
  const forged = (kid: string): string => {
    const head = Buffer.from(JSON.stringify({ alg: 'RS256', kid, typ: 'at+jwt' }));
    return `Bearer ${head.toString('base64url')}.${claims}.${randomBytes(256).toString('base64url')}`;
  };
  const flood = async (headers: (at: number) => Record<string, string>): Promise<string> => {
    const tally = await generate({
      port: service.port,
      connections: 32,
      seconds,
      requests: Array.from({ length: 2_000 }, (_, at) => requestTo(PATHS.orderUpdate, headers(at))),
      once: false,
      hasBody: true,
      perSecond: FORGED_PER_SECOND,
    });
    return Object.entries(tally)
      .map(([status, { length }]) => `${length} times ${status}`)
      .join(', ');
  };

  const pages = async (reads: boolean): Promise<string> => {
    const over = isOver();
    const clients = await Promise.all(Array.from({ length: 100 }, open));
    for (const client of clients) client[reads ? 'resume' : 'pause']().write(PAGE.repeat(2_000));
    for (; !over(); await pause(100)) await fetch(`${service.managementUrl}/health/live`);
    return `${await service.metric('order_lookup_connections_refused_total')} were closed`;
  };

  const attacks: Record<string, () => Promise<string>> = {
    nothing: () => pause(seconds * 1000, ''),
    'unread pages, then garbage, on one connection at a time': async () => {
      let sent = 0;
      for (const over = isOver(); !over();) {
        const socket = await open();
        socket.pause().write(PAGE.repeat(10));
        for (let part = 0; part < 300 && !over() && !socket.destroyed; part++) {
          if (socket.writableLength < 4 * GARBAGE.length) sent += Number(socket.write(GARBAGE));
          else await pause(5);
        }
        socket.destroy();
      }
      return `${sent} MiB were taken`;
    },
    '100 connections, each with 2,000 pages at once, read': () => pages(true),
    '100 connections, each with 2,000 pages at once, unread': () => pages(false),
    'silent connections, more than descriptors': async () => {
      for (const over = isOver(); !over(); await pause(10))
        await Promise.all(Array.from({ length: 50 }, open));
      return `${sockets.length} were opened, ${DESCRIPTORS} descriptors`;
    },
    [`${FORGED_PER_SECOND} forged tokens a second with a valid key`]: () =>
      flood(() => ({ 'Api-Key': credentials.key, Authorization: forged('rsa-1') })),
    [`${FORGED_PER_SECOND} forged tokens a second, half without a key, half with a wrong one`]:
      () =>
        flood((at) => ({
          ...(at % 2 ? { 'Api-Key': generateApiKey() } : {}),
          Authorization: forged('rsa-1'),
        })),
    'unknown key ids, and a rotation': async () => {
      const hits = issuer.jwksHits;
      const attack = flood((at) => ({ Authorization: forged(`forged-${at}`) }));
      await pause(seconds * 500);
      await issuer.rotate(randomUUID());
      const startedAt = performance.now();
      const { status } = await fetch(service.url + PATHS.orderUpdate, {
        headers: { 'Api-Key': credentials.key, Authorization: `Bearer ${await issuer.token()}` },
      });
      const took = Math.round(performance.now() - startedAt);
      return `${await attack}; a token of the new key: ${status} after ${took} ms; ${issuer.jwksHits - hits} questions to the issuer`;
    },
    [`200 connections, ${PIPELINED} pipelined requests on each, again and again`]: async () => {
      const tally = { 200: 0, 503: 0, other: 0, disordered: 0, missing: 0 };
      const times: number[] = [];
      const over = isOver();
      await Promise.all(
        Array.from({ length: 200 }, async () => {
          const socket = await open();
          while (!over() && !socket.destroyed) {
            const ids = Array.from({ length: PIPELINED }, () => randomUUID());
            const startedAt = performance.now();
            const found = await pipelined(socket, credentials, ids);
            times.push(performance.now() - startedAt);
            found.forEach(({ status, id }, at) => {
              tally[status === 200 || status === 503 ? status : 'other']++;
              if (id !== ids[at]) tally.disordered++;
            });
            tally.missing += PIPELINED - found.length;
          }
        }),
      );
      return `${JSON.stringify(tally)}; all ${PIPELINED} answered: ${quantiles(times)}`;
    },
  };

  const good = async (): Promise<() => Promise<TrafficReport>> => {
    const traffic = new Traffic(() => service.url, credentials, GOOD);
    await pause(1_000); // they are connected before
    return () => traffic.stop();
  };
  try {
    await (
      await good()
    )(); // warms up
    const lines: string[] = [];
    let without = NaN;
    for (const [name, attack] of Object.entries(attacks)) {
      const stop = await good();
      const before = residentMebibytes(service.pid);
      let most = before;
      const timer = setInterval(() => (most = Math.max(most, residentMebibytes(service.pid))), 50);
      const outcome = await attack();
      clearInterval(timer);
      const { asked, failed, failures, p50, p99, largest } = await stop();
      for (const socket of sockets.splice(0)) socket.destroy();
      await pause(1_000);
      if (Number.isNaN(without)) without = p99;
      lines.push(
        `${name}: ${failed} of ${asked} good requests failed; median ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms (${(p99 / without).toFixed(1)} times that without), largest ${largest.toFixed(1)} ms; ` +
          `memory ${Math.round(before)} MiB, at most ${Math.round(most)}, then ${Math.round(residentMebibytes(service.pid))}`,
        ...[outcome, ...failures.slice(0, 3)].filter(Boolean).map((line) => `  ${line}`),
      );
    }
    return lines.join('\n');
  } finally {
    for (const socket of sockets) socket.destroy();
    await stage.close();
  }
}

/** Sends requests with these ids at once. Gives status and id of each answer, in the order in which they came. */
function pipelined(
  socket: Socket,
  { key, token }: { key: string; token: string },
  ids: readonly string[],
): Promise<{ status: number; id: string }[]> {
  return new Promise((resolve) => {
    let text = '';
    const headers = { 'Api-Key': key, Authorization: token };
    const done = (): void => {
      clearTimeout(limit);
      socket.off('data', more).off('close', done);
      resolve(
        [...text.matchAll(/HTTP\/1\.1 (\d{3}) [^]*?X-Request-Id: (\S+)/gi)].map(
          ([, status, id = '']) => ({ status: Number(status), id }),
        ),
      );
    };
    const more = (chunk: Buffer): void => {
      text += chunk.toString('latin1');
      if (text.split('\r\n\r\n').length > ids.length) done();
    };
    const limit = setTimeout(done, LIMIT_MS);
    socket.on('data', more).once('close', done);
    socket.write(
      ids
        .map((id) => requestTo(PATHS.orderUpdate, { ...headers, 'X-Request-Id': id }, 'HEAD'))
        .join(''),
    );
  });
}
