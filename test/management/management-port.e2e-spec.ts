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

it.each(['/', '/nothing', '/health', '/docs', PATHS.orderUpdate])('has nothing at %s', async (path) => {
  expect((await fetch(world.service.managementUrl + path)).status).toBe(404);
});

it('answers health and metrics until everything else has ended', async () => {
  const service = await world.replica();
  const { url, managementUrl } = service;
  const look = async () => ({
    api: await isAnswered(`${url}/openapi.json`),
    health: await isAnswered(`${managementUrl}/health/live`),
    metrics: await isAnswered(`${managementUrl}/metrics`),
  });
  expect(await look()).toEqual({ api: true, health: true, metrics: true });
  const looksAtEnd: unknown[] = [];
  jest.spyOn(Tracing.prototype, 'stop').mockImplementation(async () => {
    looksAtEnd.push(await look()); // it is the last that ends
  });
  await service.kill();
  expect(looksAtEnd).toEqual([{ api: false, health: true, metrics: true }]);
  expect(await look()).toEqual({ api: false, health: false, metrics: false });
});
