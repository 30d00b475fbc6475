import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { PATHS } from '../support/paths.js';
import { until } from '../support/service.js';
import { Swarm } from '../support/swarm.js';
import { type Credentials, Traffic, WITHIN_A_SECOND } from '../support/traffic.js';

const PER_SECOND = 200;
/** How long traffic goes on before a fault and after it, in milliseconds. */
const AROUND_MS = 3_000;

/** Longest time of one question of a probe, in milliseconds. */
const ANSWER_MS = 3_000;
/** Longest time of one fault, in milliseconds. A fault that takes longer is reported, and the next one begins. */
const LIMIT_MS = 600_000;
/** Holds what was found so far, for a run that is broken off. */
const REPORT = '.data/faults-stack.txt';

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
  const lines: string[] = [];
  mkdirSync('.data', { recursive: true });
  writeFileSync(REPORT, '');
  const note = (line: string): void => {
    lines.push(line);
    appendFileSync(REPORT, `${line}\n`);
    console.error(line);
  };
  const swarm = await Swarm.prepare();
  try {
    let credentials: Credentials = { key: '', token: '' };
    const first = await timed(async () => (credentials = await deploy(swarm)));
    note(`from docker stack deploy, with database and migration, to the first 200: ${first}`);
    await swarm.settled();
    const again = await timed(async () => {
      await swarm.docker(`service rm ${swarm.service('api')} ${swarm.service('balancer')}`);
      await until(async () => (await swarm.containers('balancer')).length === 0);
      await swarm.deploy();
      await firstAnswer(swarm, credentials);
    });
    note(`from removing replicas and balancer to the first 200 of new ones: ${again}`);
    for (const [name, fault] of Object.entries(faults(swarm, credentials, seconds))) {
      if (!name.includes(only)) continue;
      await swarm.settled().catch(() => note('the replicas before the next fault are not settled'));
      note(await under(swarm, credentials, name, fault));
    }
  } catch (error) {
    note(String(error));
  } finally {
    await swarm.remove();
  }
  return lines.join('\n');
}

/** Deploys everything anew. Resolves with the first 200. */
export async function deploy(swarm: Swarm): Promise<Credentials> {
  await swarm.deploy();
  await until(() => swarm.asOwner('node dist/migrate.js up').then(() => true), PATIENCE);
  const issued = await swarm.asOwner('node dist/keys.js issue --client faults --json');
  await until(async () => (await swarm.token()) !== '');
  const credentials = { ...(JSON.parse(issued) as { key: string }), token: await swarm.token() };
  await firstAnswer(swarm, credentials);
  return credentials;
}

/** What happens to the stack; each leaves it settled. The text that it gives stands in the report. */
function faults(
  swarm: Swarm,
  credentials: Credentials,
  seconds: number,
): Record<string, () => Promise<string>> {
  const api = swarm.service('api');
  const scaled = (count: number): Promise<string> =>
    swarm.docker(`service scale --detach=false ${api}=${count}`);
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
        for (const count of [2, 5, 2]) await scaled(count);
      }),
    [`the container of the database killed, and away for ${seconds} s`]: async () => {
      const [db] = await swarm.containers('db');
      await swarm.docker(`service scale --detach ${swarm.service('db')}=0`);
      await swarm.docker(`kill ${db}`).catch(() => '');
      await pause(seconds * 1000);
      await swarm.docker(`service scale --detach=false ${swarm.service('db')}=1`);
      const insert = `insert into code_list_value (code_list, value) values ('orderType', 'Returned')`;
      await until(() => swarm.sql(insert).then(() => true), PATIENCE);
      return `a change right after its return was served after ${await untilServed(swarm, credentials, 'Returned')}`;
    },
    'a migration of codes': async () => {
      const image = await swarm.derive('codes', 'COPY 9999_add_order_type.sql migrations/', {
        '9999_add_order_type.sql': MIGRATION,
      });
      await swarm.asOwner('node dist/migrate.js up', image);
      return `served ${await untilServed(swarm, credentials, 'Migrated')} after the command`;
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
export async function under(
  swarm: Swarm,
  credentials: Credentials,
  name: string,
  fault: () => Promise<string>,
): Promise<string> {
  const traffic = new Traffic(() => swarm.url, credentials, {
    ...WITHIN_A_SECOND,
    perSecond: PER_SECOND,
  });
  try {
    await pause(AROUND_MS);
    const outcome = await Promise.race([
      fault(),
      pause(LIMIT_MS, `not over after ${LIMIT_MS} ms`, { ref: false }),
    ]).catch(String);
    await pause(AROUND_MS);
    const { asked, failed, late, failures, p99, largest } = await traffic.stop();
    return [
      `${name} (${outcome}): ${failed} of ${asked} requests failed, ${late} of them by being late (p99 ${p99.toFixed(1)} ms, largest ${largest.toFixed(1)} ms)`,
      ...failures.slice(0, 5),
    ].join('\n');
  } finally {
    await traffic.stop();
  }
}

const ask = async (swarm: Swarm, { key, token }: Credentials): Promise<Response> =>
  fetch(swarm.url + PATHS.orderUpdate, {
    headers: { 'Api-Key': key, Authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(ANSWER_MS),
  });

const firstAnswer = (swarm: Swarm, credentials: Credentials): Promise<void> =>
  until(async () => (await ask(swarm, credentials)).status === 200, PATIENCE);

/** How long after the commit ten answers in a row, which the replicas give in turn, hold a value that was committed. */
async function untilServed(swarm: Swarm, credentials: Credentials, value: string): Promise<string> {
  return timed(() =>
    until(async () => {
      for (let answer = 0; answer < 10; answer++)
        if (!(await (await ask(swarm, credentials)).text()).includes(value)) return false;
      return true;
    }),
  );
}

export async function timed(work: () => Promise<unknown>): Promise<string> {
  const startedAt = performance.now();
  await work();
  return `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
}
