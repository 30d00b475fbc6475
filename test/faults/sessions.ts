import { setTimeout as pause } from 'node:timers/promises';
import { answersByQuery, answersOf } from '../support/answers-by-query.js';
import { type RunningService, until } from '../support/service.js';
import type { World } from '../support/world.js';
import { Traffic } from '../support/traffic.js';
import { failuresIn } from './figures.js';

const PER_SECOND = 250;
const CHANGES_PER_SECOND = 5;

/** Ends all sessions of five replicas every 200 to 600 ms, under 250 requests and five changes a second. */
export async function sessions(world: World, seconds = 300): Promise<string> {
  const { replicas, credentials, database, headers } = world;
  let exits = 0;
  for (const replica of replicas) void replica.exited().then(() => exits++);
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
  const traffic = new Traffic(() => replicas[next++ % replicas.length]?.url ?? '', credentials, {
    perSecond: PER_SECOND,
  });
  await Promise.all([endSessions(), change()]);
  const report = await traffic.stop();
  const endedAt = performance.now();
  const wanted = JSON.stringify(await answersByQuery(database));
  let behind: RunningService[] = [];
  await until(async () => {
    const answers = await Promise.all(replicas.map(({ url }) => answersOf(url, headers)));
    behind = replicas.filter((_, at) => JSON.stringify(answers[at]) !== wanted);
    return behind.length === 0;
  }).catch(() => undefined);
  return [
    `${counts.ended} sessions of ${replicas.length} replicas ended in ${counts.rounds} rounds of ${seconds} s, under ${counts.changes} changes: ${exits} exits, ` +
      `${failuresIn(report)}; ${behind.length} replicas did not answer what a query said ${Math.round(performance.now() - endedAt)} ms after the end`,
    ...behind.map(({ lines }) =>
      JSON.stringify(lines.filter(({ msg }) => msg !== 'request').slice(-10)),
    ),
    ...report.failures.slice(0, 5),
  ].join('\n');
}
