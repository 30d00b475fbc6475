import { expect, it, jest } from '@jest/globals';
import { Tracing } from '../../src/telemetry/tracing.js';
import { localWorld } from '../support/local-world.js';
import { PATHS } from '../support/paths.js';

const world = localWorld();

it.each(['/nothing', '/health', '/docs', PATHS.orderUpdate])('has nothing at %s', async (path) => {
  expect((await fetch(world.service.managementUrl + path)).status).toBe(404);
});

it('answers health and metrics until everything else has ended', async () => {
  const service = await world.replica();
  const address = `${service.managementUrl}/health/live`;
  const statuses: number[] = [];
  jest.spyOn(Tracing.prototype, 'stop').mockImplementation(async () => {
    statuses.push((await fetch(address)).status); // it is the last that ends
  });
  await service.kill();
  expect(statuses).toEqual([200]);
  await expect(fetch(address)).rejects.toThrow();
  jest.restoreAllMocks();
});
