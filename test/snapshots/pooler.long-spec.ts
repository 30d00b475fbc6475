// Behind PgBouncer in transaction mode each session of the server serves many clients.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PATHS } from '../support/paths.js';
import { Pooler, hasPooler } from '../support/pooler.js';
import { type RunningService, until } from '../support/service.js';
import { undisturbed } from '../support/undisturbed.js';
import { World } from '../support/world.js';

const { orderUpdate: UPDATE } = PATHS;
let world: World;
let pooler: Pooler;
let service: RunningService;

(hasPooler ? describe : describe.skip)('behind a pooler (needs pgbouncer)', () => {
  beforeAll(async () => {
    world = await World.create();
    pooler = await Pooler.before(world.database.urlOf('order_lookup_service'));
    service = await world.replica({ DATABASE_URL: pooler.url });
  });
  afterAll(async () => {
    await pooler?.stop();
    await world?.close();
  });

  it('a change is served within a second', async () => {
    for (let change = 0; change < 10; change++)
      await undisturbed(async () => {
        const value = `Pooled ${change} ${Date.now()}`;
        await world.database.query(
          `insert into code_list_value (code_list, value) values ('orderType', '${value}')`,
        );
        await until(async () => (await world.get(UPDATE, { service })).text.includes(value), {
          timeoutMs: 1_000,
        });
      });
  });

  it('no setting is left in the session that the next client gets', async () => {
    const reloads = (): Promise<number> =>
      service.metric('order_lookup_snapshot_reloads_total{topic="codes",result="loaded"}');
    const before = await reloads();
    for (let look = 0; (await reloads()) < before + 10; look++) {
      await world.database.query(
        `update code_list_value set value = 'Look ${look}' where code_list = 'partyType'`,
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
