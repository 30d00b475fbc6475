import { expect, it } from '@jest/globals';
import { fetchReply } from '../support/exchange.js';
import { localWorld } from '../support/local-world.js';
import { PATHS } from '../support/paths.js';

const world = localWorld();

it.each(['/', '/nothing', '/health', '/docs', PATHS.orderUpdate])(
  'the management port has nothing at %s',
  async (path) => {
    expect((await fetchReply(world.service.managementUrl + path)).status).toBe(404);
  },
);
