import { describe, expect, it } from '@jest/globals';
import { expectProblem } from '../support/problem.js';
import { Proxy } from '../support/proxy.js';
import { RunningService, until } from '../support/service.js';
import { PATHS } from '../support/paths.js';
import { World } from '../support/world.js';

describe('API_KEY_MAX_AGE_SECONDS', () => {
  it('is how long keys count while the database is away: then 503, never 401, and 200 again on its return', async () => {
    const world = await World.create();
    const proxy = await Proxy.before(Number(new URL(world.database.url).port));
    const service = await RunningService.start({
      ...world.issuer.environment,
      DATABASE_URL: proxy.through(world.database.urlOf('order_lookup_service')),
      API_KEY_MAX_AGE_SECONDS: '10',
    });
    const ask = async () => {
      const response = await fetch(service.url + PATHS.orderUpdate, {
        headers: { 'Api-Key': world.key.key, Authorization: world.token },
      });
      return { status: response.status, headers: response.headers, text: await response.text() };
    };
    try {
      await service.ready();
      proxy.mode = 'refuse';
      proxy.cut();
      const statuses = new Set<number>();
      await until(async () => {
        const { status } = await ask();
        statuses.add(status);
        return status !== 200;
      });
      statuses.delete(200); // where the machine had time to ask while the list still counted
      expect([...statuses]).toEqual([503]);
      const reply = await ask();
      expectProblem(reply, 'cannot-verify-credentials');
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
      const ready = await fetch(`${service.managementUrl}/health/ready`);
      expect({ ready: ready.status, text: await ready.text() }).toEqual({
        ready: 503,
        text: expect.stringContaining('The list of API keys is too old.'),
      });
      proxy.mode = 'pass';
      await until(async () => (await ask()).status === 200);
      await service.ready();
    } finally {
      await service.kill();
      proxy.close();
      await world.close();
    }
  });
});
