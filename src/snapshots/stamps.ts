import type { QueryResult } from 'pg';
import type { Session } from '../database/session.js';
import type { TopicName } from './topic.js';

interface StampRow {
  readonly topic: string;
  readonly stamp: string;
  /** The database's clock, in seconds since the epoch, as a text. */
  readonly time: string;
}

/**
 * It reads the rows of both topics: with `where topic = …` PostgreSQL would look for the operator in the search_path
 * that role or database set, where somebody may have made another one. Nothing else in it depends on such settings.
 */
const SELECT_STAMPS = `select topic, stamp, extract(epoch from pg_catalog.clock_timestamp()) as time
  from public.revision`;
/**
 * One text, so that it takes one round trip, and one session behind a pooler. The level is named, and it is that of a
 * reading: role or database may have set SERIALIZABLE, which a hot standby refuses, or DEFERRABLE, which waits. Row
 * level security makes it fail, and not see no rows. The limit of 2 s has to be less than QUERY_TIMEOUT_MS of the
 * sessions.
 */
const POLL = `begin isolation level repeatable read, read only, not deferrable;
  set local statement_timeout = '2s';
  set local row_security = off;
  ${SELECT_STAMPS};
  commit`;

export interface Stamp {
  readonly stamp: string;
  /** The database's clock when it answered, in milliseconds since the epoch. */
  readonly databaseEpochMs: number;
}

/** The present stamp of a topic, outside of a transaction. */
export async function pollStamp(session: Session, topic: TopicName): Promise<Stamp> {
  const answer: unknown = await session.query(POLL);
  // pg gives a list with a result for each statement, which its types do not say
  const results: readonly QueryResult<StampRow>[] = Array.isArray(answer) ? answer : [];
  const selected = results.find(({ command }) => command === 'SELECT');
  return stampOf(topic, selected?.rows ?? []);
}

/** The stamp that belongs to everything that the transaction of the session sees. */
export async function readStamp(session: Session, topic: TopicName): Promise<Stamp> {
  const { rows } = await session.query<StampRow>(SELECT_STAMPS);
  return stampOf(topic, rows);
}

function stampOf(topic: TopicName, rows: readonly StampRow[]): Stamp {
  const row = rows.find((each) => each.topic === topic);
  if (!row) {
    const remedy = `insert into public.revision (topic) values ('${topic}');`;
    throw new Error(`the table revision has no row for ${topic}. As the owner: ${remedy}`);
  }
  return { stamp: row.stamp, databaseEpochMs: Number(row.time) * 1000 };
}
