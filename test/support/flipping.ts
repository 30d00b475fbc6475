import type { TestDatabase } from './database.js';
import { ALL_PATHS, PATHS } from './paths.js';
import type { ReachableService } from './reachable-service.js';
import { type RawReply, Reader, requestTo } from './reader.js';
import { type Credentials, makeEntityTag } from './traffic.js';
import { until } from './until.js';

const TARGETS = [...ALL_PATHS, `${PATHS.communicationCodes}?codeType=T1`];
/** The number of readers. Each replica has several, so that many requests run while the codes change. */
const READERS = 8;
/** The number of faults that are collected. Further faults would add nothing. */
const MAX_FAULTS = 100;
/** The number of communication codes. A change of few codes is fast, so there are many changes. */
const CODE_COUNT = 200;
/** The least number of flips of a run: one to the other set, and one back. */
const LEAST_FLIPS = 2;

const FLIPPED_COLUMNS = [
  { table: 'code_list_value', column: 'value' },
  { table: 'communication_code', column: 'code' },
  { table: 'communication_code', column: 'description' },
];
/** SQL that turns every code of one set into the code of the other set, in one transaction. */
const FLIP = FLIPPED_COLUMNS.map(
  ({ table, column }) =>
    `update ${table} set ${column} =
       case when ${column} like '~%' then substr(${column}, 2) else '~' || ${column} end`,
).join('; ');

type SetName = 'plain' | 'flipped';
/** The expected answers to one target: one for each set of codes. */
type Answers = Readonly<Record<SetName, { readonly bytes: Buffer; readonly etag: string }>>;

interface FlipReport {
  replies: number;
  flips: number;
  /** The number of replies with codes of each set. */
  readonly seen: Record<SetName, number>;
  /** The first MAX_FAULTS faults, in words. */
  readonly faults: string[];
}

/**
 * Changes every code from one set to the other and back, as fast as a writer can. Meanwhile readers ask all replicas
 * for all lists.
 * @param options.wanted the least number of replies
 */
export async function flipCodes(
  database: TestDatabase,
  replicas: readonly ReachableService[],
  credentials: Credentials,
  { wanted }: { readonly wanted: number },
): Promise<FlipReport> {
  await database.query('delete from communication_code');
  await database.query(
    `insert into communication_code
       select 'T' || n % 10, 'C' || n, 'Code ' || n from generate_series(1, ${CODE_COUNT}) as n`,
  );
  const expected = await fetchBothAnswers(database, replicas, credentials, `Code ${CODE_COUNT}`);
  const report: FlipReport = {
    replies: 0,
    flips: 0,
    seen: { plain: 0, flipped: 0 },
    faults: [],
  };
  const isOver = (): boolean => {
    if (report.faults.length >= MAX_FAULTS) return true;
    const isSeen = report.seen.plain > 0 && report.seen.flipped > 0;
    const isEnough = report.replies >= wanted && report.flips >= LEAST_FLIPS;
    return isSeen && isEnough;
  };
  const requests = makeRequests(credentials);
  const read = async (number: number): Promise<void> => {
    const reader = await Reader.to(cyclicAt(replicas, number).url);
    for (let turn = number; !isOver(); turn++)
      judge(report, {
        target: cyclicAt(TARGETS, turn),
        answers: cyclicAt(expected, turn),
        reply: await reader.ask(cyclicAt(requests, turn)),
      });
    reader.close();
  };
  const write = async (): Promise<void> => {
    for (; !isOver(); report.flips++) await database.query(FLIP);
  };
  const readers = Array.from({ length: READERS }, (_, number) => read(number));
  await Promise.all([write(), ...readers]);
  return report;
}

/** Returns the entry at an index. After the last entry the list begins again. */
function cyclicAt<Entry>(list: readonly Entry[], index: number): Entry {
  return list[index % list.length] as Entry;
}

function makeRequests({ key, token }: Credentials): string[] {
  const headers = { 'Api-Key': key, Authorization: `Bearer ${token}` };
  return TARGETS.map((path) => requestTo(path, headers));
}

/** Returns the answers to each target before and after a flip. Waits until all replicas serve the flip. */
async function fetchBothAnswers(
  database: TestDatabase,
  replicas: readonly ReachableService[],
  credentials: Credentials,
  lastDescription: string,
): Promise<Answers[]> {
  const requests = makeRequests(credentials);
  const allCodes = cyclicAt(requests, TARGETS.indexOf(PATHS.communicationCodes));
  const readers = await Promise.all(replicas.map(({ url }) => Reader.to(url)));
  const bodiesWith = async (text: string): Promise<Buffer[]> => {
    for (const reader of readers) await until(async () => (await reader.ask(allCodes)).body.includes(text));
    const bodies: Buffer[] = [];
    for (const request of requests) bodies.push((await cyclicAt(readers, 0).ask(request)).body);
    return bodies;
  };
  const plain = await bodiesWith(`"${lastDescription}"`);
  await database.query(FLIP);
  const flipped = await bodiesWith(`"~${lastDescription}"`);
  for (const reader of readers) reader.close();
  return TARGETS.map((_, index) => ({
    plain: withTag(cyclicAt(plain, index)),
    flipped: withTag(cyclicAt(flipped, index)),
  }));
}

function withTag(bytes: Buffer) {
  return { bytes, etag: makeEntityTag(bytes) };
}

interface JudgedReply {
  readonly target: string;
  readonly answers: Answers;
  readonly reply: RawReply;
}

/** Notes a fault unless the reply has status 200, the body of one set, and the entity tag of this body. */
function judge(report: FlipReport, { target, answers, reply }: JudgedReply): void {
  const { status, etag, body } = reply;
  report.replies++;
  const set = findSet(answers, body);
  if (status !== 200 || !set) {
    const start = body.toString().slice(0, 300);
    report.faults.push(`${target}: status ${status}, a body of neither set: ${start}`);
    return;
  }
  if (etag === answers[set].etag) report.seen[set]++;
  else report.faults.push(`${target}: ${etag} is not the tag of the body`);
}

function findSet(answers: Answers, body: Buffer): SetName | undefined {
  if (body.equals(answers.plain.bytes)) return 'plain';
  if (body.equals(answers.flipped.bytes)) return 'flipped';
  return undefined;
}
