import { createServer } from 'node:http';
import { expect, it } from '@jest/globals';
import { listen } from '../support/listen.js';
import { PROJECT, shell } from '../support/program.js';
import { testFolder } from '../support/test-folder.js';

const folder = testFolder();

it('the health check of the image asks for readiness until the first success, for liveness afterwards', async () => {
  const answers = { '/health/live': 200, '/health/ready': 503 };
  const server = createServer(({ url }, response) => response.writeHead(answers[url as keyof typeof answers]).end());
  const environment = { MANAGEMENT_PORT: String(await listen(server)), TMPDIR: folder };
  const check = async (): Promise<number | null> =>
    (await shell('bash deploy/healthcheck.sh', PROJECT, environment)).status;
  expect(await check()).toBe(1);
  answers['/health/ready'] = 200;
  expect(await check()).toBe(0);
  answers['/health/ready'] = 503; // a long outage ends no replica
  expect(await check()).toBe(0);
  server.closeAllConnections();
  server.close();
  expect(await check()).toBe(1);
});
