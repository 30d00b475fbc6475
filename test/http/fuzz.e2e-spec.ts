import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PATHS } from '../support/paths.js';
import { World } from '../support/world.js';

interface Fuzz {
  readonly fuzz: (options: {
    port: number;
    key: string;
    token: string;
    count: number;
    seed: number;
    base: string;
  }) => Promise<{ wrong: unknown[] }>;
}

const SEED = 20_251;
const BASE = '/base';
let world: World;
beforeAll(async () => {
  world = await World.create({ BASE_PATH: BASE, CORS_ORIGINS: 'https://portal.example.com' });
});
afterAll(() => world?.close());

describe('whatever a grammar of requests makes', () => {
  it('is answered well, and the same process answers a good request afterwards', async () => {
    const path = './fuzz.mjs';
    const { fuzz } = (await import(path)) as Fuzz;
    const { wrong } = await fuzz({
      port: world.service.port,
      key: world.key.key,
      token: world.token,
      count: 4_000,
      seed: SEED,
      base: BASE,
    });
    expect({ seed: SEED, wrong }).toEqual({ seed: SEED, wrong: [] });
    expect((await world.get(BASE + PATHS.orderUpdate)).status).toBe(200);
  });
});
