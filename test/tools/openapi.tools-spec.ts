import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { World } from '../support/world.js';

let world: World;
beforeAll(async () => {
  world = await World.create({ OAUTH_REQUIRED_SCOPE: 'lookups.read' });
});
afterAll(() => world?.close());

it("the OpenAPI document passes Redocly's recommended rules", async () => {
  const source = JSON.stringify(world.contract.document);
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lintFromString({ source, config });
  expect(problems.map(({ message, location }) => [message, location[0]?.pointer])).toEqual([]);
});
