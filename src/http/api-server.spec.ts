// What becomes of a connection when the port closes, with real sockets.
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, type Socket, connect } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { until } from '../../test/support/until.js';
import { ApiServer } from './api-server.js';

const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const [FIRST_HALF, SECOND_HALF] = [REQUEST.slice(0, 20), REQUEST.slice(20)];

let server: ApiServer;
let responses: ServerResponse[];
let clients: Socket[];
beforeEach(async () => {
  responses = [];
  clients = [];
  server = new ApiServer({ keepAliveTimeout: 0 }, (request, response) => {
    const connection = server.connectionOf(request.socket);
    connection.add(response);
    response.once('close', () => connection.remove(response));
    responses.push(response);
    if (request.url === '/') response.end('answer');
    server.emit('asked');
  });
  server.on('clientError', (_error, socket: Socket) => {
    server.connectionOf(socket).fail();
    server.emit('failed');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  for (const client of clients) client.destroy();
  server.close().closeAllConnections();
  await once(server, 'close');
});

/** A client that is connected, and the server's side of its connection. */
async function open(): Promise<{ client: Socket; accepted: Socket }> {
  const accepting = once(server, 'connection') as Promise<[Socket]>;
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined);
  clients.push(client);
  await once(client, 'connect');
  const [accepted] = await accepting;
  return { client, accepted };
}

/** Sends bytes, and waits until the server's side has read all that was sent. */
async function send({ client, accepted }: Opened, bytes: string): Promise<void> {
  client.write(bytes);
  await until(async () => accepted.bytesRead === client.bytesWritten);
}
type Opened = Awaited<ReturnType<typeof open>>;

async function expectAnswer(client: Socket): Promise<void> {
  const [bytes] = (await once(client, 'data')) as [Buffer];
  expect(bytes.toString()).toMatch(/^HTTP\/1.1 200 OK/);
}

it('a connection that was just accepted stays, and its request is answered', async () => {
  const { client } = await open();
  server.closeIdleConnections();
  client.write(REQUEST);
  await expectAnswer(client);
});

it('a connection with half a request stays, and the request is answered', async () => {
  const opened = await open();
  await send(opened, FIRST_HALF);
  server.closeIdleConnections();
  opened.client.write(SECOND_HALF);
  await expectAnswer(opened.client);
});

it('a connection with half a request behind an answer stays, and the request is answered', async () => {
  const opened = await open();
  await send(opened, REQUEST);
  await expectAnswer(opened.client);
  await send(opened, FIRST_HALF);
  server.closeIdleConnections();
  opened.client.write(SECOND_HALF);
  await expectAnswer(opened.client);
});

it('a connection with an open response stays, and the response is read', async () => {
  const { client } = await open();
  client.write(REQUEST.replace('/', '/later'));
  await once(server, 'asked');
  server.closeIdleConnections();
  responses[0]?.end('answer');
  await expectAnswer(client);
});

it('a connection whose error is being answered stays, also where the request before was answered', async () => {
  const { client, accepted } = await open();
  const failing = once(server, 'failed');
  client.write(`${REQUEST}garbage\r\n\r\n`);
  await Promise.all([failing, until(async () => responses[0]?.closed === true)]);
  server.closeIdleConnections();
  expect(accepted.destroyed).toBe(false);
});

it('an idle connection is closed', async () => {
  const { client } = await open();
  client.write(REQUEST);
  await expectAnswer(client);
  await until(async () => responses[0]?.closed === true);
  server.closeIdleConnections();
  await once(client, 'close');
});
