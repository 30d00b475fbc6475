import { setTimeout as pause } from 'node:timers/promises';
import { ALL_PATHS, PATHS } from './paths.js';
import { Reader, requestTo } from './reader.js';
import { until } from './service.js';
import type { World } from './world.js';
import { entityTagOf } from './traffic.js';

const TARGETS = [...ALL_PATHS, `${PATHS.communicationCodes}?codeType=MOMENT`];
/** Codes that begin, and that end, at each moment. */
const CODES = 25;
const LEAD_MS = 4_000;

/**
 * Commits moments at which one value and 25 codes begin while others end, and asks all replicas for everything every few milliseconds. The
 * database's clock is that of this process.
 * @returns for each moment how much later the last replica switched than the first, for each replica too how late after it, replies that mix two times, and
 *   those that came too early
 * @param away called after the moment in the middle, when all replicas have read the moments; everything from then on is served without it
 */
export async function watchMoments(
  { database, replicas, headers }: World,
  { count, apartMs, everyMs = 5 }: { count: number; apartMs: number; everyMs?: number },
  away: () => Promise<unknown> = () => Promise.resolve(),
) {
  const requests = TARGETS.map((path) => requestTo(path, headers));
  const middle = count >> 1;
  const outageMs = 3_000;
  const base = Date.now() + LEAD_MS;
  const momentOf = (number: number): number =>
    base + number * apartMs + (number > middle ? outageMs : 0);
  const ofNumber = (number: number): string =>
    `Moment ${number}', ${number === 0 ? 'null' : `to_timestamp(${momentOf(number) / 1000})`}, ${
      number === count ? 'null' : `to_timestamp(${momentOf(number + 1) / 1000})`
    })`;
  const numbers = Array.from({ length: count + 1 }, (_, number) => number);
  const values = numbers.map((number) => `('orderType', '${ofNumber(number)}`);
  const codes = numbers.flatMap((number) =>
    Array.from({ length: CODES }, (_, at) => `('MOMENT', 'C${at}-${number}', '${ofNumber(number)}`),
  );
  await database.query(
    `insert into code_list_value (code_list, value, valid_from, valid_until) values ${values.join()};
     insert into communication_code (code_type, code, description, valid_from, valid_until) values ${codes.join()}`,
  );
  const seen = replicas.map(() => new Map<number, number>());
  const state = { replies: 0, mixed: [] as string[], early: [] as string[] };
  const watch = async (at: number): Promise<void> => {
    const { url } = replicas[at] as (typeof replicas)[number];
    const reader = await Reader.to(url);
    let last = -1;
    for (let turn = at; last < count && state.mixed.length < 100; turn++) {
      const { status, etag, body } = await reader.ask(requests[turn % requests.length] as string);
      const received = Date.now();
      const text = body.toString();
      const found = new Set(text.match(/(?<=Moment )\d+/g)?.map(Number));
      const [number = -1] = found;
      const isWhole =
        found.size === 1 && [1, CODES].includes(text.match(/Moment \d/g)?.length ?? 0);
      if (status !== 200 || !isWhole || number < last || etag !== entityTagOf(body)) {
        if (last >= 0 || found.size > 1)
          state.mixed.push(`replica ${at}, status ${status}, ${number} after ${last}: ${text}`);
      } else {
        if (number > 0 && received < momentOf(number))
          state.early.push(`replica ${at}, moment ${number}: ${momentOf(number) - received} ms`);
        for (let switched = last + 1; switched <= number; switched++)
          seen[at]?.set(switched, received);
        last = number;
        state.replies++;
      }
      await pause(everyMs);
    }
    reader.close();
  };
  const outage = async (): Promise<void> => {
    const hasRead = (): boolean => seen.every(({ size }) => size > 0);
    await until(async () => hasRead() && Date.now() > momentOf(middle) + apartMs / 2);
    await away();
  };
  await Promise.all([outage(), ...replicas.map((_, at) => watch(at))]);
  const times = numbers
    .slice(1)
    .map((number) => seen.map((ofReplica) => ofReplica.get(number) ?? NaN));
  return {
    ...state,
    spreads: times.map((ofMoment) => Math.max(...ofMoment) - Math.min(...ofMoment)),
    late: times.flatMap((ofMoment, at) => ofMoment.map((time) => time - momentOf(at + 1))),
  };
}
