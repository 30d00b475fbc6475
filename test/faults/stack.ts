import { setTimeout as pause } from 'node:timers/promises';
import { PATHS } from '../support/paths.js';
import { until } from '../support/service.js';
import { type Credentials, Traffic, WITHIN_A_SECOND } from '../support/traffic.js';
import { timed } from './figures.js';
import { statusOf, textOf } from './probe.js';
import { Swarm } from './swarm.js';

const PER_SECOND = 200;
/** How long traffic goes on before a fault and after it, in milliseconds. */
const AROUND_MS = 3_000;
/** Longest time of one fault, in milliseconds. A fault that takes longer is reported, and the next one begins. */
const LIMIT_MS = 600_000;
const PATIENCE = { timeoutMs: 300_000, everyMs: 1_000 };
const MIGRATION = `-- Up Migration
insert into code_list_value (code_list, value) values ('orderType', 'Migrated');
-- Down Migration
delete from code_list_value where code_list = 'orderType' and value = 'Migrated';
`;

/**
 * Deploys deploy/swarm on this machine's swarm, updates and breaks it under 200 requests a second. Gives what failed.
 * @param only faults whose name holds it
 */
export async function stack(seconds = 60, only = ''): Promise<string> {
  const swarm = await Swarm.prepare();
  const lines: string[] = [];
  try {
    let credentials: Credentials = { key: '', token: '' };
    const took = await timed(async () => (credentials = await deploy(swarm)));
    lines.push(`from docker stack deploy, with database and migration, to the first 200: ${took}`);
    for (const [name, fault] of Object.entries(faults(swarm, credentials, seconds))) {
      if (!name.includes(only)) continue;
      await swarm.settled();
      lines.push(await under(swarm, credentials, name, fault));
      console.error(lines.at(-1)); // for a run that is broken off
    }
  } finally {
    await swarm.remove();
  }
  return lines.join('\n');
}

/** Deploys everything anew. Resolves with the first 200. */
async function deploy(swarm: Swarm): Promise<Credentials> {
  await swarm.deploy();
  await until(() => swarm.asOwner('node dist/migrate.js up').then(() => true), PATIENCE);
  const issued = await swarm.asOwner('node dist/keys.js issue --client faults --json');
  await until(async () => (await swarm.token()) !== '');
  const credentials = { ...(JSON.parse(issued) as { key: string }), token: await swarm.token() };
  const url = swarm.url + PATHS.orderUpdate;
  await until(async () => (await statusOf(url, credentials)) === 200, PATIENCE);
  return credentials;
}

/** What happens to the stack; each leaves it settled. The text that it gives stands in the report. */
function faults(
  swarm: Swarm,
  credentials: Credentials,
  seconds: number,
): Record<string, () => Promise<string>> {
  const [api, db] = [swarm.service('api'), swarm.service('db')];
  /** How long until ten answers in a row, which the replicas give in turn, hold a value that was committed. */
  const served = (value: string): Promise<string> =>
    timed(() =>
      until(async () => {
        for (let answer = 0; answer < 10; answer++)
          if (!(await textOf(swarm.url + PATHS.orderUpdate, credentials)).includes(value))
            return false;
        return true;
      }),
    );
  return {
    'rolling update of three replicas': () =>
      timed(() => swarm.docker(`service update --detach=false --force ${api}`)),
    'an update that never becomes ready': async () => {
      const bad = await swarm.derive('bad', 'CMD ["node", "-e", "setInterval(() => 0, 1000)"]');
      const checks = '--health-start-period 5s --health-retries 2';
      const update = `service update --detach=false --no-resolve-image --image ${bad} ${checks} ${api}`;
      const took = await timed(() => swarm.docker(update).catch(() => ''));
      const state = `service inspect --format '{{.UpdateStatus.State}}' ${api}`;
      return `${await swarm.docker(state)} after ${took}`;
    },
    'a replica killed': async () => {
      const [replica] = await swarm.containers('api');
      return timed(async () => {
        await swarm.docker(`kill ${replica}`);
        await pause(2_000);
        await swarm.settled();
      });
    },
    '2, 5 and 2 replicas': () =>
      timed(async () => {
        for (const count of [2, 5, 2])
          await swarm.docker(`service scale --detach=false ${api}=${count}`);
      }),
    [`the container of the database killed, and away for ${seconds} s`]: async () => {
      const [container] = await swarm.containers('db');
      await swarm.docker(`service scale --detach ${db}=0`);
      await swarm.docker(`kill ${container}`).catch(() => '');
      await pause(seconds * 1000);
      await swarm.docker(`service scale --detach=false ${db}=1`);
      const insert = `insert into code_list_value (code_list, value) values ('orderType', 'Returned')`;
      await until(() => swarm.sql(insert).then(() => true), PATIENCE);
      return `a change right after its return was served after ${await served('Returned')}`;
    },
    'a migration of codes': async () => {
      const [name, copy] = ['9999_add_order_type.sql', 'COPY *.sql migrations/'];
      const image = await swarm.derive('codes', copy, name, MIGRATION);
      await swarm.asOwner('node dist/migrate.js up', image);
      return `served ${await served('Migrated')} after the command`;
    },
    'a rotated password': () =>
      timed(async () => {
        await swarm.sql(`alter role order_lookup_service password 'development-only-rotated'`);
        await swarm.readAs('development-only-rotated');
        await swarm.deploy();
        await pause(2_000);
        await swarm.settled();
      }),
  };
}

/** Traffic before, during and after the fault, and what failed of it, in words. */
async function under(
  swarm: Swarm,
  credentials: Credentials,
  name: string,
  fault: () => Promise<string>,
): Promise<string> {
  const options = { ...WITHIN_A_SECOND, perSecond: PER_SECOND };
  const traffic = new Traffic(() => swarm.url, credentials, options);
  try {
    await pause(AROUND_MS);
    const late = pause(LIMIT_MS, `not over after ${LIMIT_MS} ms`, { ref: false });
    const outcome = await Promise.race([fault(), late]).catch(String);
    await pause(AROUND_MS);
    const { asked, failed, failures, p99, largest } = await traffic.stop();
    return [
      `${name} (${outcome}): ${failed} of ${asked} requests failed (p99 ${p99.toFixed(1)} ms, largest ${largest.toFixed(1)} ms)`,
      ...failures.slice(0, 5),
    ].join('\n');
  } finally {
    await traffic.stop();
  }
}
