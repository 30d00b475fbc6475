import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { TestDatabase } from './database.js';
import { Reader, requestTo } from './reader.js';
import { type RunningService, until } from './service.js';
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
const DECODE: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  '': (body) => body,
  gzip: gunzipSync,
  br: brotliDecompressSync,
};

/**
 * A writer flips every code between two sets as fast as it can, while eight readers ask all replicas for all lists. Every body has to be wholly
 * the one or the other, the same on all replicas, with the entity tag that is made from it and of its content coding.
 * @param accepted Accept-Encoding of the readers, in turn
 * @param codings that have to be seen, as both sets twice, before it ends
 */
export async function flipCodes(
  database: TestDatabase,
  replicas: readonly RunningService[],
  { key, token }: Credentials,
  { count = 200, wanted = 0, leastFlips = 2, accepted = [''], codings = [''] },
) {
  const requestsOf = (accept = ''): string[] =>
    TARGETS.map((path) =>
      requestTo(path, {
        'Api-Key': key,
        Authorization: `Bearer ${token}`,
        ...(accept === '' ? {} : { 'Accept-Encoding': accept }),
      }),
    );
  const requests = requestsOf();
  await database.query('delete from communication_code');
  await database.query(
    `insert into communication_code select 'T' || n % 10, 'C' || n, 'Code ' || n from generate_series(1, ${count}) as n`,
  );
  const readers = await Promise.all(replicas.map(({ url }) => Reader.to(url)));
  /** The bodies of all lists, when every replica serves this text. */
  const bodies = async (text: string): Promise<Buffer[]> => {
    for (const reader of readers)
      await until(async () => (await reader.ask(requests[2] as string)).body.includes(text));
    const found: Buffer[] = [];
    for (const request of requests) found.push((await (readers[0] as Reader).ask(request)).body);
    return found;
  };
  const plain = await bodies(`"Code ${count}"`);
  await database.query(FLIP);
  const flipped = await bodies(`"~Code ${count}"`);
  for (const reader of readers) reader.close();
  const expected = plain.map((body, at) =>
    [body, flipped[at] as Buffer].map((bytes) => ({ bytes, etag: entityTagOf(bytes) })),
  );

  const state = {
    replies: 0,
    flips: 0,
    seen: [0, 0] as [number, number],
    coded: {} as Record<string, number>,
    faults: [] as string[], // in words; the first hundred
  };
  const isOver = (): boolean => {
    if (state.faults.length >= 100) return true;
    const isSeen = Math.min(...state.seen) > 1 && codings.every((name) => state.coded[name]);
    return state.replies >= wanted && state.flips >= leastFlips && isSeen;
  };
  const read = async (number: number): Promise<void> => {
    const reader = await Reader.to((replicas[number % replicas.length] as RunningService).url);
    const asked = requestsOf(accepted[number % accepted.length]);
    for (let turn = number; !isOver(); turn++) {
      const at = turn % asked.length;
      const { status, etag, coding, body } = await reader.ask(asked[at] as string);
      const decoded = DECODE[coding]?.(body);
      const which = expected[at]?.findIndex(({ bytes }) => decoded?.equals(bytes)) ?? -1;
      const tag = expected[at]?.[which]?.etag;
      if (status !== 200 || tag === undefined)
        state.faults.push(
          `${TARGETS[at]}: status ${status}, coding ${coding}, a body of neither set: ${decoded?.toString().slice(0, 300)}`,
        );
      else if (etag !== (coding === '' ? tag : `${tag.slice(0, -1)}-${coding}"`))
        state.faults.push(`${TARGETS[at]}: ${etag} is not the tag of the body, coding ${coding}`);
      else state.seen[which as 0 | 1]++;
      state.coded[coding] = (state.coded[coding] ?? 0) + 1;
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
