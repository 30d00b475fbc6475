import type { QueryResult } from 'pg';
import type { Session } from '../database/session.js';
import type { TopicName } from './topic.js';

interface StampRow {
  readonly topic: string;
  readonly stamp: string;
  /** The database's clock, in seconds since the epoch, as a text. */
  readonly time: string;
}

/** Both topics, so that no operator is looked up. Nothing in it depends on settings of the role or the database. */
const SELECT_STAMPS = `select topic, stamp, extract(epoch from pg_catalog.clock_timestamp()) as time
  from public.revision`;
/** One round trip, and one transaction behind a pooler. */
const LOOK = `begin isolation level repeatable read, read only, not deferrable;
  set local statement_timeout = '2s';
  ${SELECT_STAMPS};
  commit`;

export interface Stamp {
  readonly stamp: string;
  /** The database's clock when it answered, in milliseconds since the epoch. */
  readonly databaseMs: number;
}

/** The present stamp of a topic, outside of a transaction. */
export async function lookAtStamp(session: Session, topic: TopicName): Promise<Stamp> {
  // pg gives a result for each statement of a text, which its types do not say
  const results = (await session.query(LOOK)) as unknown as QueryResult<StampRow>[];
  const selected = results.find(({ command }) => command === 'SELECT');
  return stampOf(topic, selected?.rows);
}

/** The stamp that belongs to everything that the transaction of the session sees. */
export async function readStamp(session: Session, topic: TopicName): Promise<Stamp> {
  const { rows } = await session.query<StampRow>(SELECT_STAMPS);
  return stampOf(topic, rows);
}

function stampOf(topic: TopicName, rows: readonly StampRow[] = []): Stamp {
  const row = rows.find((each) => each.topic === topic);
  if (!row) {
    const remedy = `insert into public.revision (topic) values ('${topic}');`;
    throw new Error(`the table revision has no row for ${topic}. As the owner: ${remedy}`);
  }
  return { stamp: row.stamp, databaseMs: Number(row.time) * 1000 };
}
