// A start while the database or the issuer is away.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { localWorld } from '../support/local-world.js';
import { PATHS } from '../support/paths.js';
import { expectProblem } from '../support/problem.js';
import { Proxy } from '../support/proxy.js';

const world = localWorld({ replicas: 0 });
let proxy: Proxy;
beforeAll(async () => {
  proxy = await Proxy.before(world.database.urlOf('order_lookup_service'));
});
afterAll(() => proxy?.close());

it('waits, not ready, until the database and the issuer have answered once', async () => {
  proxy.mode = 'refuse';
  world.issuer.fault = 'down';
  const service = await world.start({ DATABASE_URL: proxy.url });
  await service.waitForLog(({ msg }) => msg === 'database (codes): failed, callers are refused');
  await service.waitForLog(({ msg }) => msg === 'database (keys): failed, callers are refused');
  const { status, text } = await service.readiness();
  expect(status).toBe(503);
  expect(text).toContain('The codes have not been read from the database yet.');
  expect(text).toContain('The list of API keys has not been read yet.');
  expect(text).toContain('No signing keys of the issuer are available.');
  expectProblem(await world.get(PATHS.orderUpdate, { service }), 'cannot-verify-credentials');
  proxy.mode = 'pass';
  world.issuer.fault = 'none';
  await service.ready();
  expect((await world.get(PATHS.orderUpdate, { service })).status).toBe(200);
});
