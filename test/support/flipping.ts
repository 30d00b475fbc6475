import type { TestDatabase } from './database.js';
import { Reader, requestTo } from './reader.js';
import { RunningService, until } from './service.js';
import { type Credentials, entityTagOf } from './traffic.js';
import { ALL_PATHS, PATHS } from './paths.js';

const TARGETS = [...ALL_PATHS, `${PATHS.communicationCodes}?codeType=T1`];
/** Turns every code of one set into that of the other, in one transaction. */
const FLIP = ['code_list_value.value', 'communication_code.code', 'communication_code.description']
  .map((name) => name.split('.') as [string, string])
  .map(
    ([table, column]) =>
      `update ${table} set ${column} = case when ${column} like '~%' then substr(${column}, 2) else '~' || ${column} end`,
  )
  .join('; ');
const COUNT = 200;

export interface Flipping {
  readonly replies: number;
  readonly flips: number;
  /** What was wrong, in words; the first hundred. */
  readonly faults: readonly string[];
  /** Replies of each of the two sets. */
  readonly seen: readonly [number, number];
}

/**
 * A writer flips every code between two sets as fast as it can, while eight readers ask all replicas for all lists. Every body has to be wholly
 * the one or the other, the same on all replicas, with the entity tag that is made from it.
 */
export async function flipCodes(
  database: TestDatabase,
  replicas: readonly RunningService[],
  { key, token }: Credentials,
  wanted: number,
): Promise<Flipping> {
  const requests = TARGETS.map((path) =>
    requestTo(path, { 'Api-Key': key, Authorization: `Bearer ${token}` }),
  );
  await database.query('delete from communication_code');
  await database.query(
    `insert into communication_code select 'T' || n % 10, 'C' || n, 'Code ' || n from generate_series(1, ${COUNT}) as n`,
  );
  const first = replicas[0] as RunningService;
  const everywhere = async (fits: (text: string) => boolean): Promise<void> => {
    const readers = await Promise.all(replicas.map(({ url }) => Reader.to(url)));
    await until(async () =>
      (await Promise.all(readers.map((reader) => reader.ask(requests[2] as string)))).every(
        ({ body }) => fits(body.toString()),
      ),
    );
    for (const reader of readers) reader.close();
  };
  const bodies = async (): Promise<Buffer[]> => {
    const reader = await Reader.to(first.url);
    const found: Buffer[] = [];
    for (const request of requests) found.push((await reader.ask(request)).body);
    reader.close();
    return found;
  };
  await everywhere((text) => text.includes('"Code 200"'));
  const plain = await bodies();
  await database.query(FLIP);
  await everywhere((text) => text.includes('"~Code 200"'));
  const flipped = await bodies();
  const expected = plain.map((body, at) =>
    [body, flipped[at] as Buffer].map((bytes) => ({ bytes, etag: entityTagOf(bytes) })),
  );

  const state = { replies: 0, flips: 0, seen: [0, 0] as [number, number], faults: [] as string[] };
  const isOver = (): boolean =>
    (state.replies >= wanted && state.flips >= 2) || state.faults.length >= 100;
  const read = async (number: number): Promise<void> => {
    const reader = await Reader.to((replicas[number % replicas.length] as RunningService).url);
    for (let turn = number; !isOver(); turn++) {
      const at = turn % requests.length;
      const { status, etag, body } = await reader.ask(requests[at] as string);
      const which = expected[at]?.findIndex(({ bytes }) => bytes.equals(body)) ?? -1;
      if (status !== 200 || which < 0)
        state.faults.push(
          `${TARGETS[at]}: status ${status}, a body of neither set: ${body.toString().slice(0, 300)}`,
        );
      else if (etag !== expected[at]?.[which]?.etag)
        state.faults.push(`${TARGETS[at]}: the entity tag ${etag} is not that of the body`);
      else state.seen[which as 0 | 1]++;
      state.replies++;
    }
    reader.close();
  };
  const write = async (): Promise<void> => {
    for (; !isOver(); state.flips++) await database.query(FLIP);
  };
  await Promise.all([write(), ...Array.from({ length: 8 }, (_, number) => read(number))]);
  return state;
}
