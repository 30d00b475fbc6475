// Each topic has a random stamp, which every transaction that changes the topic replaces. So two contents never have the same stamp, whatever
// was restored or lost between them.
import type { QueryConfig, QueryResult } from 'pg';
import type { EntityManager } from 'typeorm';
import type { Session } from '../database/session.js';

/** Parts of the content that change independently: the codes (lists, properties, records) and the API keys. */
export type Topic = 'codes' | 'keys';

/** How long an answer may take. Then the session is destroyed. */
const ANSWER_MS = 1_500;

export interface Stamp {
  readonly stamp: string;
  /** Of the database, in milliseconds since the epoch. */
  readonly time: number;
}

/** The stamp of the committed content. */
export async function askStamp(session: Session, topic: Topic): Promise<Stamp> {
  const results = (await session.query({
    text: `begin read only; set local statement_timeout = '1s';
      set local search_path = pg_catalog, pg_temp;
      select stamp::text as stamp, (extract(epoch from clock_timestamp()) * 1000)::float8 as time from public.revision where topic = '${topic}';
      commit`,
    query_timeout: ANSWER_MS,
  } as QueryConfig)) as unknown as QueryResult<Stamp>[];
  return existing(results[3]?.rows[0], topic);
}

/** The stamp of the content that the transaction of `manager` sees. */
export async function readStamp(manager: EntityManager, topic: Topic): Promise<string> {
  const [row] = await manager.query<Stamp[]>(
    'select stamp::text as stamp from public.revision where topic = $1',
    [topic],
  );
  return existing(row, topic).stamp;
}

function existing(row: Stamp | undefined, topic: Topic): Stamp {
  if (!row)
    throw new Error(
      `the table revision has no row for ${topic}: as the owner, insert into revision (topic) values ('${topic}')`,
    );
  return row;
}
