import { expect, it, jest } from '@jest/globals';
import { Tracing } from '../../src/telemetry/tracing.js';
import { localWorld } from '../support/local-world.js';

const world = localWorld({ replicas: 0 });

it('health and metrics are answered until everything else has ended', async () => {
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
