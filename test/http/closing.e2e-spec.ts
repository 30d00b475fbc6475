// After an answer that closes its connection nothing runs, nothing is answered and nothing is counted (RFC 9112 section 9.6).
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PATHS } from '../support/paths.js';
import { exchange } from '../support/raw.js';
import { World } from '../support/world.js';

const PATH = PATHS.orderUpdate;
const START = `GET ${PATH} HTTP/1.1\r\nHost: x\r\n`;
let world: World;
let credentials: string;

beforeAll(async () => {
  world = await World.create({ LOG_LEVEL: 'debug' });
  credentials = `Api-Key: ${world.key.key}\r\nAuthorization: Bearer ${world.token}\r\n`;
});
afterAll(() => world?.close());

/** How many requests are counted and logged when this one is. */
async function soFar(): Promise<{ counted: number; logged: number }> {
  const id = randomUUID();
  await world.get('/nothing', { headers: { 'X-Request-Id': id } });
  await world.service.waitForLog(({ requestId }) => requestId === id);
  const logged = world.service.requestLines.findIndex(({ requestId }) => requestId === id);
  return { counted: (await world.service.requestsCounted()) - 1, logged };
}

const CLOSING: [name: string, status: number, request: () => string][] = [
  ['Connection: close', 200, () => `${START}${credentials}Connection: close\r\n\r\n`],
  ['HTTP/1.0', 200, () => `GET ${PATH} HTTP/1.0\r\n${credentials}\r\n`],
  [
    'HTTP/1.0 with keep-alive',
    200,
    () => `GET ${PATH} HTTP/1.0\r\nConnection: keep-alive\r\n${credentials}\r\n`,
  ],
  ['Expect: 100-continue', 200, () => `${START}${credentials}Expect: 100-continue\r\n\r\n`],
  [
    'Expect: 100-continue with chunks',
    400,
    () => `${START}Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n`,
  ],
  ['another expectation', 417, () => `${START}${credentials}Expect: x\r\n\r\n`],
  ['a body with a length', 400, () => `${START}${credentials}Content-Length: 3\r\n\r\nabc`],
  [
    'a body in chunks',
    400,
    () => `${START}${credentials}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`,
  ],
  [
    'POST with a body',
    405,
    () => `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc`,
  ],
  [
    'POST with a body in chunks',
    405,
    () => `POST ${PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  ],
  [
    'POST with a body to an unknown address',
    404,
    () => `POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc`,
  ],
  ['no Host', 400, () => `GET ${PATH} HTTP/1.1\r\n${credentials}\r\n`],
  ['a target that is too long', 414, () => `GET /${'x'.repeat(8_000)} HTTP/1.1\r\nHost: x\r\n\r\n`],
  ['bytes that are no request', 400, () => 'nonsense\r\n\r\n'],
  ['CONNECT', 405, () => 'CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n'],
];
const BEHIND: [name: string, bytes: () => string][] = [
  ['a good request', () => `${START}${credentials}\r\n`],
  ['two good requests', () => `${START}${credentials}\r\n`.repeat(2)],
  ['bytes that are no request', () => 'nonsense\r\n\r\n'],
  ['another expectation', () => `${START}Expect: x\r\n\r\n`],
  ['CONNECT', () => 'CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n'],
];

describe.each(CLOSING)('%s closes the connection with %d', (_name, status, request) => {
  it.each(BEHIND)(
    'and what is behind it in the same packet does nothing: %s',
    async (_, behind) => {
      const before = await soFar();
      const { responses, closed } = await exchange(world.service.port, [request() + behind()]);
      const after = await soFar();
      expect({
        statuses: responses.map((response) => response.status),
        connection: responses[0]?.headers.get('connection'),
        closed,
        counted: after.counted - before.counted - 1,
        logged: world.service.requestLines
          .slice(before.logged + 1, after.logged)
          .map((line) => line['status']),
      }).toEqual({
        statuses: [status],
        connection: 'close',
        closed: true,
        counted: 1,
        logged: [status],
      });
    },
  );

  it('after the answers to the requests before it', async () => {
    const { responses, closed } = await exchange(world.service.port, [
      `${START}${credentials}\r\nGET /nothing HTTP/1.1\r\nHost: x\r\n\r\n${request()}${START}${credentials}\r\n`,
    ]);
    expect({ statuses: responses.map((response) => response.status), closed }).toEqual({
      statuses: [200, 404, status],
      closed: true,
    });
  });
});

describe('a client that is still sending', () => {
  it('gets the answer that closes, not a reset', async () => {
    const { responses, closed } = await exchange(world.service.port, [
      `POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n\r\n${'x'.repeat(8_000_000)}`,
    ]);
    expect({ statuses: responses.map(({ status }) => status), closed }).toEqual({
      statuses: [405],
      closed: true,
    });
  });
});
