import { expect, it, jest } from '@jest/globals';
import { Tracing } from '../../src/telemetry/tracing.js';
import { localWorld } from '../support/local-world.js';
import { PATHS } from '../support/paths.js';

const world = localWorld();

async function isAnswered(address: string): Promise<boolean> {
  try {
    const { status } = await fetch(address);
    return status === 200;
  } catch {
    return false;
  }
}

it.each(['/nothing', '/health', '/docs', PATHS.orderUpdate])('has nothing at %s', async (path) => {
  expect((await fetch(world.service.managementUrl + path)).status).toBe(404);
});

it('answers health and metrics until everything else has ended', async () => {
  const service = await world.replica();
  const address = `${service.managementUrl}/health/live`;
  const answers: boolean[] = [];
  jest.spyOn(Tracing.prototype, 'stop').mockImplementation(async () => {
    answers.push(await isAnswered(address)); // it is the last that ends
  });
  await service.kill();
  expect(answers).toEqual([true]);
  expect(await isAnswered(address)).toBe(false);
  jest.restoreAllMocks();
});
