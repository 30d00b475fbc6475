import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PROJECT, shell } from '../support/program.js';
import { RunningService } from '../support/service.js';
import { World } from '../support/world.js';

let world: World;
let neverReady: RunningService;
const folder = mkdtempSync(join(tmpdir(), 'health-'));

beforeAll(async () => {
  world = await World.create();
  neverReady = await RunningService.start({
    ...world.issuer.environment,
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
  });
});
afterAll(async () => {
  await neverReady?.kill();
  await world?.close();
  rmSync(folder, { recursive: true });
});

const check = async ({ managementUrl }: RunningService): Promise<number | null> => {
  const { port } = new URL(managementUrl);
  const environment = { MANAGEMENT_PORT: port, TMPDIR: folder };
  return (await shell('bash deploy/healthcheck.sh', PROJECT, environment)).status;
};

describe('the health check of the image', () => {
  it('fails while the service has never been ready', async () => {
    expect(await check(neverReady)).toBe(1);
  });

  it('succeeds as soon as the service is ready', async () => {
    expect(await check(world.service)).toBe(0);
  });

  it('asks for liveness alone from then on, so that a long outage ends no replica', async () => {
    expect(await check(neverReady)).toBe(0);
  });

  it('fails when the service answers no longer', async () => {
    await neverReady.kill();
    expect(await check(neverReady)).toBe(1);
  });
});
