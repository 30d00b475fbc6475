import { createServer } from 'node:http';
import { afterAll, expect, it } from '@jest/globals';
import { listen } from '../support/ports.js';
import { processWorld } from '../support/test-world.js';

const asked: string[] = [];
/** A proxy that reaches no address, as a company's proxy cannot reach this machine. */
const proxy = createServer((request, response) => {
  asked.push(`${request.method} ${request.url}`);
  response.writeHead(403).end();
}).on('connect', (request, socket) => {
  asked.push(`CONNECT ${request.url}`);
  socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
});
afterAll(() => void proxy.close());

const address = `http://127.0.0.1:${await listen(proxy)}`;
const world = processWorld({
  environment: { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: address, HTTPS_PROXY: address },
});

// Node.js 20 and 22.12 do not know NODE_USE_ENV_PROXY. `npm run test:node` runs this test on newer versions
it('an issuer on this machine is asked without the proxy', async () => {
  expect(await world.get('/orders-update-api/supported-values')).toMatchObject({ status: 200 });
  expect(asked).toEqual([]);
});
