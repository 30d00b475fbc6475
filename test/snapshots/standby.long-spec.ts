// A hot standby as the database, and what it becomes after a failover that lost commits.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { PATHS } from '../support/paths.js';
import type { PostgresServer } from '../support/postgres-server.js';
import { Proxy } from '../support/proxy.js';
import { type RunningService, until } from '../support/service.js';
import { World } from '../support/world.js';

let stage: World;
let standby: PostgresServer;
let service: RunningService;

async function atStandby(sql: string): Promise<unknown[]> {
  const client = new Client(
    Object.assign(new URL(standby.url), { pathname: `/${stage.database.name}` }).href,
  );
  await client.connect();
  try {
    return (await client.query(sql)).rows as unknown[];
  } finally {
    await client.end();
  }
}

const codes = async (replica: RunningService): Promise<string> =>
  (await stage.get(PATHS.communicationCodes, { service: replica })).text;

const setCode = (description: string): string =>
  `insert into communication_code values ('T', 'C', '${description}') on conflict (code_type, code) do update set description = excluded.description`;

beforeAll(async () => {
  stage = await World.apart(0);
  standby = await stage.postgres.standby();
  service = await stage.replica({
    DATABASE_URL: Object.assign(new URL(stage.database.urlOf('order_lookup_service')), {
      port: String(standby.port),
    }).href,
  });
});
afterAll(async () => {
  await service?.kill();
  await standby?.remove();
  await stage?.close();
});

describe('a hot standby', () => {
  it('serves the changes of its primary, and notes no use of keys', async () => {
    for (let change = 0; change < 10; change++) {
      await stage.database.query(setCode(`Replicated ${change}`));
      await until(async () => (await codes(service)).includes(`Replicated ${change}"`));
    }
    expect(await service.metric('order_lookup_database_up')).toBe(1);
  });

  it('that is promoted without the last commits and gets as many others: the lost content is not served', async () => {
    const proxy = await Proxy.before(stage.postgres.port);
    const other = await stage.replica({
      DATABASE_URL: proxy.through(stage.database.urlOf('order_lookup_service')),
    });
    try {
      await stage.database.query(setCode('Kept'));
      await until(async () => (await codes(service)).includes('"Kept"'));
      await atStandby(`alter system set primary_conninfo = ''`);
      await atStandby('select pg_reload_conf()');
      await until(async () => (await atStandby('select from pg_stat_wal_receiver')).length === 0);
      await stage.database.query(setCode('Lost'));
      await until(async () => (await codes(other)).includes('"Lost"'));

      await atStandby('select pg_promote()');
      proxy.port = standby.port;
      proxy.cut();
      await atStandby(setCode('Found'));
      for (const replica of [service, other]) {
        await until(async () => (await codes(replica)).includes('"Found"'));
        expect(await codes(replica)).not.toContain('"Lost"');
      }
    } finally {
      await other.kill();
      proxy.close();
    }
  });
});
