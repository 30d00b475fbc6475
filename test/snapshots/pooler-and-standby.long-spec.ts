import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { PATHS } from '../support/paths.js';
import { Pooler, hasPooler } from '../support/pooler.js';
import type { PostgresServer } from '../support/postgres-server.js';
import { until } from '../support/service.js';
import { World } from '../support/world.js';

let world: World;
let standby: PostgresServer;

beforeAll(async () => {
  world = await World.apart(0);
  standby = await world.postgres.standby();
});
afterAll(async () => {
  await world?.close();
  await standby?.remove();
});

/** Two replicas at this address serve ten changes of the primary, one after the other. */
async function expectServed(url: string, each = async (): Promise<void> => {}): Promise<void> {
  const replicas = await Promise.all([1, 2].map(() => world.replica({ DATABASE_URL: url })));
  for (let change = 0; change < 10; change++) {
    const value = `Change ${change} of ${new URL(url).port}`;
    await world.database.query(
      `update code_list_value set value = '${value}' where code_list = 'partyType'`,
    );
    for (const service of replicas)
      await until(async () =>
        (await world.get(PATHS.orderUpdate, { service })).text.includes(value),
      );
    await each();
  }
  for (const replica of replicas) {
    expect(await replica.metric('order_lookup_database_up')).toBe(1);
    await replica.kill();
  }
}

it('on a hot standby the changes of its primary are served', () => {
  const url = new URL(world.database.urlOf('order_lookup_service'));
  return expectServed(Object.assign(url, { port: `${standby.port}` }).href);
});

(hasPooler ? it : it.skip)(
  'behind PgBouncer, where a session of the server serves many clients, changes are served, and no setting is left for the next client',
  async () => {
    const pooler = await Pooler.before(world.database.urlOf('order_lookup_service'));
    await expectServed(pooler.url, async () =>
      expect(
        await pooler.query(
          `select name, setting from pg_settings where setting is distinct from reset_val and source = 'session'
             and name not in ('application_name', 'client_encoding', 'DateStyle', 'TimeZone', 'standard_conforming_strings')
           union all select 'TimeZone', setting from pg_settings where name = 'TimeZone' and setting <> reset_val`,
        ),
      ).toEqual([]),
    );
    await pooler.stop();
  },
);
