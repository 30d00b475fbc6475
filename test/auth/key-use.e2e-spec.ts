import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { PATHS } from '../support/paths.js';
import { until } from '../support/service.js';
import { World } from '../support/world.js';

let world: World;
beforeAll(async () => {
  world = await World.create();
});
afterAll(() => world?.close());

const uses = () =>
  world.database.query<{ at: Date }>(
    'select last_used_at as at from api_key_use where key_id = $1',
    [world.key.id],
  );
const records = () =>
  world.database.query(
    `select (select count(*) from history) as history, (select array_agg(r) from revision r) as revision`,
  );

describe('the last use of a key', () => {
  it('is noted soon, at most once a minute, and leaves revision and history as they are', async () => {
    const before = await records();
    expect(await uses()).toEqual([]);
    await world.get(PATHS.orderUpdate);
    await until(async () => (await uses()).length > 0);
    const [first] = await uses();
    await world.database.query('select note_key_use(array[$1::uuid])', [world.key.id]);
    expect(await uses()).toEqual([first]);
    await world.database.query(
      `update api_key_use set last_used_at = now() - interval '2 minutes'`,
    );
    await world.database.query('select note_key_use(array[$1::uuid])', [world.key.id]);
    expect((await uses())[0]?.at.getTime()).toBeGreaterThanOrEqual(first?.at.getTime() ?? 0);
    expect(await records()).toEqual(before);
  });

  it('is noted by a function, which is all that the role of the service may call', async () => {
    const client = new Client(world.database.urlOf('order_lookup_service'));
    await client.connect();
    await client.query('select note_key_use(array[]::uuid[])');
    for (const sql of [
      'delete from api_key_use',
      `insert into api_key_use values (gen_random_uuid(), now())`,
    ])
      await expect(client.query(sql)).rejects.toMatchObject({ code: '42501' });
    await client.end();
  });
});
