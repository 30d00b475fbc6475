// Behind PgBouncer in transaction mode each session of the server serves many clients.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PATHS } from '../support/paths.js';
import { Pooler, hasPooler } from '../support/pooler.js';
import { until } from '../support/service.js';
import { World } from '../support/world.js';

let world: World;
let pooler: Pooler;

(hasPooler ? describe : describe.skip)('two replicas behind a pooler (needs pgbouncer)', () => {
  beforeAll(async () => {
    world = await World.create();
    pooler = await Pooler.before(world.database.urlOf('order_lookup_service'));
    for (let at = 0; at < 2; at++)
      world.replicas.push(await world.replica({ DATABASE_URL: pooler.url }));
  });
  afterAll(async () => {
    await pooler?.stop();
    await world?.close();
  });

  it('serve each change, and leave no setting in the session that the next client gets', async () => {
    for (let change = 0; change < 10; change++) {
      await world.database.query(
        `update code_list_value set value = 'Pooled ${change}' where code_list = 'partyType'`,
      );
      for (const service of world.replicas)
        await until(async () =>
          (await world.get(PATHS.orderUpdate, { service })).text.includes(`Pooled ${change}`),
        );
      expect(
        await pooler.query(
          `select name, setting from pg_settings where setting is distinct from reset_val and source = 'session'
             and name not in ('application_name', 'client_encoding', 'DateStyle', 'TimeZone', 'standard_conforming_strings')
           union all select 'TimeZone', setting from pg_settings where name = 'TimeZone' and setting <> reset_val`,
        ),
      ).toEqual([]);
    }
  });
});
