import { createServer } from 'node:http';
import { expect, it } from '@jest/globals';
import { listen } from '../support/ports.js';
import { PROJECT, shell } from '../support/program.js';

it('the health check of the image succeeds only if the replica is ready', async () => {
  let readiness = 503;
  const server = createServer(({ url }, response) => {
    response.writeHead(url === '/health/ready' ? readiness : 404).end();
  });
  const environment = { MANAGEMENT_PORT: String(await listen(server)) };
  const check = async (): Promise<number | null> =>
    (await shell('bash deploy/healthcheck.sh', PROJECT, environment)).status;
  expect(await check()).toBe(1);
  readiness = 200;
  expect(await check()).toBe(0);
  server.closeAllConnections();
  server.close();
  expect(await check()).toBe(1);
});
