// A moment is a time at which codes and values begin or end. The value of a list, and the description of a code, is
// `Moment N` if it begins at the moment N. `Moment 0` is valid from the start.
import { setTimeout as pause } from 'node:timers/promises';
import type { TestDatabase } from './database.js';
import { ALL_PATHS, PATHS } from './paths.js';
import type { ReachableService } from './reachable-service.js';
import { type RawReply, Reader, requestTo } from './reader.js';
import { makeEntityTag } from './traffic.js';
import { until } from './until.js';
import type { World } from './world.js';

const TARGETS = [...ALL_PATHS, `${PATHS.communicationCodes}?codeType=MOMENT`];
/** The number of codes that begin at each moment. At the same time, those of the former moment end. */
const CODES_PER_MOMENT = 25;
const VALUES_PER_MOMENT = 1;
/** The time from the commit to the moment 0. In this time all replicas read all moments. */
const LEAD_MS = 4_000;
/** The additional time between the moment in the middle and the next one. In this time PostgreSQL stops. */
const STOP_MS = 3_000;
const MAX_FAULTS = 100;

interface MomentOptions {
  readonly count: number;
  readonly apartMs: number;
  /** The pause between two requests to a replica. */
  readonly everyMs?: number;
}

interface MomentReport {
  replies: number;
  /** Faulty replies, such as replies with codes of two moments, or with older codes than an earlier reply. */
  readonly faulty: string[];
  /** Replies with the codes of a moment that had not come yet. */
  readonly early: string[];
  /** The time from the first replica's switch to the last replica's switch, for each moment. */
  readonly spreadsMs: number[];
  /** The time from a moment until a replica switched, for each moment and replica. */
  readonly delaysMs: number[];
}

/** The times of all moments. */
interface Schedule {
  readonly count: number;
  /** The number of the moment after which the database goes away. */
  readonly middle: number;
  /** Returns the time of the moment with this number, in milliseconds. */
  readonly toTime: (number: number) => number;
}

/**
 * Commits moments. Then asks all replicas for all codes until each has switched to the last moment.
 * @param takeDatabaseAway is called after the moment in the middle. By then all replicas have read all moments, so they
 *   serve the later moments without the database
 */
export async function watchMoments<Service extends ReachableService>(
  { database, replicas, headers }: World<Service>,
  { count, apartMs, everyMs = 5 }: MomentOptions,
  takeDatabaseAway: () => Promise<unknown>,
): Promise<MomentReport> {
  const schedule = makeSchedule(count, apartMs);
  await commit(database, schedule);
  const requests = TARGETS.map((path) => requestTo(path, headers));
  const watches = replicas.map(({ url }, index) => new Watch(`replica ${index}`, url, schedule));
  const outage = async (): Promise<void> => {
    await until(async () => {
      const haveAllRead = watches.every(({ switchedAt }) => switchedAt.size > 0);
      return haveAllRead && Date.now() > schedule.toTime(schedule.middle) + apartMs / 2;
    });
    await takeDatabaseAway();
  };
  await Promise.all([outage(), ...watches.map((watch) => watch.run(requests, everyMs))]);
  return makeReport(schedule, watches);
}

function makeSchedule(count: number, apartMs: number): Schedule {
  const middle = Math.floor(count / 2);
  const base = Date.now() + LEAD_MS; // the database has the same clock as this process
  const toTime = (number: number): number => {
    const afterOutage = number > middle ? STOP_MS : 0;
    return base + number * apartMs + afterOutage;
  };
  return { count, middle, toTime };
}

/** Commits all moments. The codes with the number 0 are valid already, and the codes of the last moment never end. */
async function commit(database: TestDatabase, { count, toTime }: Schedule): Promise<void> {
  const values: string[] = [];
  const codes: string[] = [];
  for (let number = 0; number <= count; number++) {
    const begin = number === 0 ? 'null' : `to_timestamp(${toTime(number) / 1000})`;
    const end = number === count ? 'null' : `to_timestamp(${toTime(number + 1) / 1000})`;
    values.push(`('orderType', 'Moment ${number}', ${begin}, ${end})`);
    for (let code = 0; code < CODES_PER_MOMENT; code++)
      codes.push(`('MOMENT', 'C${code}-${number}', 'Moment ${number}', ${begin}, ${end})`);
  }
  await database.query(
    `insert into code_list_value (code_list, value, valid_from, valid_until)
       values ${values.join()};
     insert into communication_code (code_type, code, description, valid_from, valid_until)
       values ${codes.join()}`,
  );
}

/** Asks one replica until it has switched to the last moment. */
class Watch {
  /** The time at which the first reply of each moment came. */
  readonly switchedAt = new Map<number, number>();
  readonly faulty: string[] = [];
  readonly early: string[] = [];
  replies = 0;
  /** The number of the last reply's moment; -1 until the replica has read the moments. */
  private current = -1;

  constructor(
    private readonly name: string,
    private readonly url: string,
    private readonly schedule: Schedule,
  ) {}

  async run(requests: readonly string[], everyMs: number): Promise<void> {
    const reader = await Reader.to(this.url);
    for (let turn = 0; this.isUnderWay; turn++) {
      const request = requests[turn % requests.length] as string;
      const reply = await reader.ask(request);
      this.judge(reply, Date.now());
      await pause(everyMs);
    }
    reader.close();
  }

  private get isUnderWay(): boolean {
    return this.current < this.schedule.count && this.faulty.length < MAX_FAULTS;
  }

  private judge(reply: RawReply, receivedAt: number): void {
    const numbers = findMomentNumbers(reply);
    const [number = -1] = numbers;
    const isRight = isWhole(reply, numbers) && number >= this.current;
    if (isRight) {
      this.take(number, receivedAt);
      return;
    }
    // Until the replica has read the moments, its answers contain none of their codes
    const isBeforeReading = this.current < 0 && numbers.length === 0;
    if (isBeforeReading) return;
    const change = `${number} after ${this.current}`;
    this.faulty.push(`${this.name}, status ${reply.status}, ${change}: ${reply.body.toString()}`);
  }

  private take(number: number, receivedAt: number): void {
    const tooEarlyMs = this.schedule.toTime(number) - receivedAt;
    if (number > 0 && tooEarlyMs > 0) this.early.push(`${this.name}, moment ${number}: ${tooEarlyMs} ms`);
    for (let switched = this.current + 1; switched <= number; switched++) this.switchedAt.set(switched, receivedAt);
    this.current = number;
    this.replies++;
  }
}

/** Returns the numbers of the moments to which the codes and values of an answer belong. */
function findMomentNumbers({ body }: RawReply): number[] {
  return (
    body
      .toString()
      .match(/(?<=Moment )\d+/g)
      ?.map(Number) ?? []
  );
}

/** Returns whether an answer contains all values, or all codes, of one moment, and nothing of another moment. */
function isWhole({ status, etag, body }: RawReply, numbers: readonly number[]): boolean {
  const isOfOneMoment = new Set(numbers).size === 1;
  const isComplete = [VALUES_PER_MOMENT, CODES_PER_MOMENT].includes(numbers.length);
  return status === 200 && isOfOneMoment && isComplete && etag === makeEntityTag(body);
}

function makeReport({ count, toTime }: Schedule, watches: readonly Watch[]): MomentReport {
  const report: MomentReport = {
    replies: watches.reduce((sum, { replies }) => sum + replies, 0),
    faulty: watches.flatMap(({ faulty }) => faulty),
    early: watches.flatMap(({ early }) => early),
    spreadsMs: [],
    delaysMs: [],
  };
  for (let number = 1; number <= count; number++) {
    const times = watches.map(({ switchedAt }) => switchedAt.get(number) ?? NaN);
    report.spreadsMs.push(Math.max(...times) - Math.min(...times));
    report.delaysMs.push(...times.map((time) => time - toTime(number)));
  }
  return report;
}
