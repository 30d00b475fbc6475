import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PATHS } from '../support/paths.js';
import { exchange } from '../support/raw.js';
import { requestTo } from '../support/reader.js';
import { World } from '../support/world.js';

const CONNECTIONS = 200;
const PIPELINED = 50;
const ROUNDS = 3;

let world: World;
beforeAll(async () => {
  world = await World.create();
});
afterAll(() => world?.close());

describe('200 connections with 50 pipelined requests each, again and again', () => {
  it.each(['callers', 'strangers', 'both'])(
    'get all answers in the order of the requests: %s',
    async (whose) => {
      const caller = { 'Api-Key': world.key.key, Authorization: `Bearer ${world.token}` };
      const stranger = { Authorization: `Bearer ${world.token}` };
      const kinds = [
        ...(whose === 'strangers' ? [] : [[PATHS.orderUpdate, caller, 200] as const]),
        ...(whose === 'callers' ? [] : [[PATHS.orderUpdate, stranger, 401] as const]),
        [PATHS.orderCaptureV2, caller, 405, 'POST'] as const,
        ['/docs', {}, 200] as const,
        ['/nothing', {}, 404] as const,
      ];
      for (let round = 0; round < ROUNDS; round++) {
        const replies = await Promise.all(
          Array.from({ length: CONNECTIONS }, async () => {
            const asked = Array.from({ length: PIPELINED }, () => ({
              id: randomUUID(),
              kind: kinds[Math.floor(Math.random() * kinds.length)] as (typeof kinds)[number],
            }));
            const text = asked.map(({ id, kind: [path, headers, , method] }) =>
              requestTo(path, { ...headers, 'X-Request-Id': id }, method),
            );
            const { responses } = await exchange(world.service.port, [text.join('')], {
              answers: PIPELINED,
            });
            return {
              wanted: asked.map(({ id, kind: [, , status] }) => `${status} ${id}`),
              found: responses.map(
                ({ status, headers }) => `${status} ${headers.get('x-request-id')}`,
              ),
            };
          }),
        );
        for (const { wanted, found } of replies) expect(found).toEqual(wanted);
      }
    },
  );
});
