import { setTimeout as pause } from 'node:timers/promises';
import { answersByQuery } from '../support/answers-by-query.js';
import { ALL_PATHS } from '../support/paths.js';
import { type RunningService, until } from '../support/service.js';
import { World } from '../support/world.js';
import { Traffic } from '../support/traffic.js';

const REPLICAS = 5;
const PER_SECOND = 250;
const CHANGES_PER_SECOND = 5;

/** Ends all sessions of five replicas every 200 to 600 ms, under 250 requests and five changes a second. */
export async function sessions(seconds = 300): Promise<string> {
  const stage = await World.apart(REPLICAS);
  const { replicas, credentials, database } = stage;
  let exits = 0;
  for (const replica of replicas) void replica.exited().then(() => exits++);
  const headers = { 'Api-Key': credentials.key, Authorization: `Bearer ${credentials.token}` };
  const answersOf = async (url: string): Promise<Record<string, string>> =>
    Object.fromEntries(
      await Promise.all(
        ALL_PATHS.map(async (path) => [path, await (await fetch(url + path, { headers })).text()]),
      ),
    ) as Record<string, string>;

  const counts = { ended: 0, rounds: 0, changes: 0 };
  const end = performance.now() + seconds * 1000;
  const endSessions = async (): Promise<void> => {
    for (; performance.now() < end; counts.rounds++) {
      await pause(200 + Math.random() * 400);
      const rows = await database.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where usename = 'order_lookup_service'`,
      );
      counts.ended += rows.length;
    }
  };
  const change = async (): Promise<void> => {
    for (; performance.now() < end; counts.changes++) {
      await database.query(
        counts.changes % 2 === 0
          ? `insert into communication_code values ('T', 'C${counts.changes % 50}', 'D') on conflict (code_type, code) do update set description = communication_code.description || '.'`
          : `update code_list_value set value = 'Change ${counts.changes}' where code_list = 'partyType'`,
      );
      await pause(1000 / CHANGES_PER_SECOND);
    }
  };
  let next = 0;
  const traffic = new Traffic(() => replicas[next++ % REPLICAS]?.url ?? '', credentials, {
    perSecond: PER_SECOND,
  });
  try {
    await Promise.all([endSessions(), change()]);
    const { asked, failed, failures, p99, largest } = await traffic.stop();
    const endedAt = performance.now();
    const wanted = JSON.stringify(await answersByQuery(database));
    let behind: RunningService[] = [];
    await until(async () => {
      const answers = await Promise.all(replicas.map(({ url }) => answersOf(url)));
      behind = replicas.filter((_, at) => JSON.stringify(answers[at]) !== wanted);
      return behind.length === 0;
    }).catch(() => undefined);
    return [
      `${counts.ended} sessions of ${REPLICAS} replicas ended in ${counts.rounds} rounds of ${seconds} s, under ${counts.changes} changes: ${exits} exits, ` +
        `${failed} of ${asked} requests failed (p99 ${p99.toFixed(1)} ms, largest ${largest.toFixed(1)} ms); ${behind.length} replicas did not answer what a query said ` +
        `${Math.round(performance.now() - endedAt)} ms after the end`,
      ...behind.map(({ lines }) =>
        JSON.stringify(lines.filter(({ msg }) => msg !== 'request').slice(-10)),
      ),
      ...failures.slice(0, 5),
    ].join('\n');
  } finally {
    await traffic.stop();
    await stage.close();
  }
}
