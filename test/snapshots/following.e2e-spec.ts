import { afterEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { flipCodes } from '../support/flipping.js';
import { Proxy } from '../support/proxy.js';
import { RunningService, until } from '../support/service.js';
import { Traffic } from '../support/traffic.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';
import { World } from '../support/world.js';

const { orderUpdate: UPDATE, orderCaptureV2: CAPTURE } = PATHS;
let world: World | undefined;
const others: RunningService[] = [];
let proxy: Proxy | undefined;

afterEach(async () => {
  await Promise.all(others.splice(0).map((service) => service.kill()));
  await world?.close();
  proxy?.close();
  world = undefined;
  proxy = undefined;
});

const replica = async (
  here: World,
  environment: Record<string, string> = {},
): Promise<RunningService> => {
  const service = await RunningService.start({
    DATABASE_URL: here.database.urlOf('order_lookup_service'),
    ...here.issuer.environment,
    ...environment,
  });
  others.push(service);
  await service.ready();
  return service;
};

const ask = async (
  here: World,
  service: RunningService,
  path: string,
): Promise<{ status: number; text: string; etag: string | null }> => {
  const response = await fetch(service.url + path, {
    headers: { 'Api-Key': here.key.key, Authorization: `Bearer ${here.token}` },
  });
  return {
    status: response.status,
    text: await response.text(),
    etag: response.headers.get('etag'),
  };
};

/** 200 mixed requests a second to `service`, whose answers are all checked. */
const trafficTo = ({ key: { key }, token }: World, { url }: RunningService): Traffic =>
  new Traffic(() => url, { key, token });

const noneFailed = async (traffic: Traffic): Promise<void> => {
  const { asked, failures } = await traffic.stop();
  expect(failures).toEqual([]);
  expect(asked).toBeGreaterThan(50);
};

describe('a committed change', () => {
  it('is served by three replicas, with equal bytes and entity tags', async () => {
    const here = (world = await World.create());
    const services = [here.service, await replica(here), await replica(here)];
    for (let change = 0; change < 10; change++) {
      await here.database.query(
        `insert into code_list_value (code_list, value) values ('orderType', $1)`,
        [`New ${change}`],
      );
      await Promise.all(
        services.map((service) =>
          until(async () => (await ask(here, service, UPDATE)).text.includes(`"New ${change}"`)),
        ),
      );
    }
    for (const path of ALL_PATHS) {
      const [first, ...rest] = await Promise.all(
        services.map((service) => ask(here, service, path)),
      );
      expect(rest).toEqual([first, first]);
    }
    expect((await ask(here, here.service, CAPTURE)).text).toContain('"New 9"');
  });

  it('is seen wholly or not at all, by eight readers of three replicas, in every content coding, while a writer flips every code', async () => {
    const here = (world = await World.create());
    const services = [here.service, await replica(here), await replica(here)];
    const { replies, flips, faults, seen, coded } = await flipCodes(
      here.database,
      services,
      { key: here.key.key, token: here.token },
      { count: 400, wanted: 5_000, accepted: ['', 'gzip', 'br', '*;q=0'] },
    );
    expect(faults).toEqual([]);
    expect(replies).toBeGreaterThanOrEqual(5_000);
    expect(Math.min(flips, ...seen)).toBeGreaterThan(1);
    expect(Object.keys(coded).sort()).toEqual(['', 'br', 'gzip']);
  });

  it('is not served before it is committed, nor when it fails', async () => {
    const here = (world = await World.create());
    const open = new Client(here.database.url);
    await open.connect();
    await open.query(
      `begin; insert into code_list_value (code_list, value) values ('orderType', 'Open')`,
    );
    await here.database.query(
      `insert into code_list_value (code_list, value) values ('partyType', 'Committed')`,
    );
    await until(async () => (await ask(here, here.service, UPDATE)).text.includes('"Committed"'));
    expect((await ask(here, here.service, UPDATE)).text).not.toContain('"Open"');
    await expect(open.query('select 1 / 0')).rejects.toThrow('division by zero');
    await open.query('commit'); // of a failed transaction: rolls back
    await open.query(
      `begin; insert into code_list_value (code_list, value) values ('orderType', 'Late'); commit`,
    );
    await until(async () => (await ask(here, here.service, UPDATE)).text.includes('"Late"'));
    expect((await ask(here, here.service, UPDATE)).text).not.toContain('"Open"');
    await open.end();
  });

  it('that cannot be served is refused, and the former one stays', async () => {
    const here = (world = await World.create());
    const before = await ask(here, here.service, UPDATE);
    await here.database.query(
      `alter table code_list_value drop constraint code_list_value_is_clean_text_of_256_characters`,
    );
    await here.database.query(
      `insert into code_list_value (code_list, value) values ('orderType', '')`,
    );
    await here.service.waitForLog(({ msg }) => msg === 'snapshot: refused, the former one stays');
    expect(await ask(here, here.service, UPDATE)).toEqual(before);
    expect((await fetch(`${here.service.managementUrl}/health/ready`)).status).toBe(200);
    await here.database.query(
      `delete from code_list_value where value = ''; insert into code_list_value (code_list, value) values ('orderType', 'Good')`,
    );
    await until(async () => (await ask(here, here.service, UPDATE)).text.includes('"Good"'));
  });
});

describe('the database', () => {
  it('away at the start: the port is open, 503 until it comes, then ready', async () => {
    const here = (world = await World.create());
    proxy = await Proxy.before(Number(new URL(here.database.url).port));
    proxy.mode = 'refuse';
    const service = await RunningService.start({
      ...here.issuer.environment,
      DATABASE_URL: proxy.through(here.database.urlOf('order_lookup_service')),
    });
    others.push(service);
    await until(async () => (await service.metric('order_lookup_jwks_keys')) > 0);
    expect((await ask(here, service, UPDATE)).status).toBe(503);
    expect((await fetch(`${service.managementUrl}/health/live`)).status).toBe(200);
    expect((await fetch(`${service.managementUrl}/health/ready`)).status).toBe(503);
    proxy.mode = 'pass';
    await until(async () => (await ask(here, service, UPDATE)).status === 200);
  });

  it('gone: no request fails, metrics show it, and what was committed in the meantime is served after its return', async () => {
    const here = (world = await World.create());
    proxy = await Proxy.before(Number(new URL(here.database.url).port));
    const service = await replica(here, {
      DATABASE_URL: proxy.through(here.database.urlOf('order_lookup_service')),
    });
    const traffic = trafficTo(here, service);
    proxy.mode = 'refuse';
    proxy.cut();
    await until(async () => (await service.metric('order_lookup_database_up')) === 0);
    expect((await fetch(`${service.managementUrl}/health/ready`)).status).toBe(200);
    await here.database.query(
      `insert into code_list_value (code_list, value) values ('orderType', 'Meanwhile')`,
    );
    proxy.mode = 'pass';
    await until(async () => (await ask(here, service, UPDATE)).text.includes('Meanwhile'));
    await noneFailed(traffic);
  });

  it('that ends all our sessions again and again is connected to again, with three sessions at most', async () => {
    const here = (world = await World.create());
    const traffic = trafficTo(here, here.service);
    const sessions = `select pid from pg_stat_activity where application_name = 'order-lookup-services' and datname = current_database()`;
    for (let round = 0; round < 5; round++) {
      await here.database.query(`select pg_terminate_backend(pid) from (${sessions}) as ours`);
      await here.database.query(
        `insert into code_list_value (code_list, value) values ('orderType', $1)`,
        [`Round ${round}`],
      );
      await until(async () =>
        (await ask(here, here.service, UPDATE)).text.includes(`Round ${round}`),
      );
      expect((await here.database.query(sessions)).length).toBeLessThanOrEqual(3);
    }
    await noneFailed(traffic);
  });

  it('whose connection the network drops silently is detected, and a change is served after its return', async () => {
    const here = (world = await World.create());
    proxy = await Proxy.before(Number(new URL(here.database.url).port));
    const service = await replica(here, {
      DATABASE_URL: proxy.through(here.database.urlOf('order_lookup_service')),
    });
    proxy.mode = 'swallow';
    await here.database.query(
      `insert into code_list_value (code_list, value) values ('orderType', 'Unheard')`,
    );
    await until(async () => (await service.metric('order_lookup_database_up')) === 0);
    proxy.mode = 'pass';
    await until(async () => (await ask(here, service, UPDATE)).text.includes('Unheard'));
  });

  it('slow, so that every packet comes late: no request fails, and changes are still served', async () => {
    const here = (world = await World.create());
    proxy = await Proxy.before(Number(new URL(here.database.url).port));
    const service = await replica(here, {
      DATABASE_URL: proxy.through(here.database.urlOf('order_lookup_service')),
    });
    const traffic = trafficTo(here, service);
    proxy.mode = 'delay';
    await here.database.query(
      `insert into code_list_value (code_list, value) values ('orderType', 'Slowly')`,
    );
    await until(async () => (await ask(here, service, UPDATE)).text.includes('Slowly'));
    await noneFailed(traffic);
  });

  it('whose notification is lost is asked all the same', async () => {
    const here = (world = await World.create());
    await here.database.query(
      `create or replace function note_change(changed_topic text, changed_extent text) returns void language plpgsql as $$
      begin insert into public.revision (topic, extent) values (changed_topic, changed_extent) on conflict do nothing; end $$`,
    );
    await here.database.query(
      `insert into code_list_value (code_list, value) values ('orderType', 'Silent')`,
    );
    await until(async () => (await ask(here, here.service, UPDATE)).text.includes('Silent'));
  });
});

describe('a storm of 2,000 notifications', () => {
  it('makes a few reloads a second', async () => {
    const here = (world = await World.create());
    const before = await here.service.metric(
      'order_lookup_snapshot_reloads_total{topic="codes",result="loaded"}',
    );
    const startedAt = Date.now();
    for (let batch = 0; batch < 100; batch++) {
      await here.database.query(
        Array.from(
          { length: 20 },
          (_, at) =>
            `begin; update code_list_value set value = 'Storm ${batch}-${at}' where code_list = 'partyType'; commit;`,
        ).join(' '),
      );
    }
    await until(async () => (await ask(here, here.service, UPDATE)).text.includes('Storm 99-19'));
    const reloads =
      (await here.service.metric(
        'order_lookup_snapshot_reloads_total{topic="codes",result="loaded"}',
      )) - before;
    expect(reloads).toBeLessThanOrEqual(2 + (Date.now() - startedAt) / 200);
  });
});
