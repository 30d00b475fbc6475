import { createServer } from 'node:http';
import { afterAll, expect, it } from '@jest/globals';
import { listen } from '../support/ports.js';
import { processWorld } from '../support/test-world.js';

const requestsToProxy: string[] = [];
/** A proxy that refuses every request. A company's proxy refuses addresses of this machine in the same way. */
const proxy = createServer((request, response) => {
  requestsToProxy.push(`${request.method} ${request.url}`);
  response.writeHead(403).end();
}).on('connect', (request, socket) => {
  requestsToProxy.push(`CONNECT ${request.url}`);
  socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
});
afterAll(() => void proxy.close());

const proxyUrl = `http://127.0.0.1:${await listen(proxy)}`;
const world = processWorld({
  environment: { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl },
});

// Node.js 20 and 22.12 ignore NODE_USE_ENV_PROXY, so on these versions this test shows nothing. To run it on other
// versions, use `npm run test:node`.
it('the service asks an issuer on this machine without the proxy that NODE_USE_ENV_PROXY switches on', async () => {
  expect(await world.get('/orders-update-api/supported-values')).toMatchObject({ status: 200 });
  expect(requestsToProxy).toEqual([]);
});
