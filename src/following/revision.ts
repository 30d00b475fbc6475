// The revision of a topic: the column `stamp` of the table `revision`, a random UUID. A transaction that changes the
// topic gives it another one, by triggers. So two contents never have the same, whatever is restored or lost.
import type { QueryResult } from 'pg';
import { STATEMENT_TIMEOUT_MS, type Session } from '../database/session.js';

/** What changes independently: codes (lists, properties, records) and API keys. */
export type TopicName = 'codes' | 'keys';

interface RevisionRow {
  readonly topic: string;
  readonly stamp: string;
  /** The database's clock, in seconds since the epoch, as a text. */
  readonly time: string;
}

/**
 * It reads the rows of both topics: with `where topic = …` PostgreSQL would look for the operator in the search_path
 * that role or database set, where somebody may have made another one. Nothing else in it depends on such settings.
 */
const SELECT_REVISIONS = `select topic, stamp, extract(epoch from pg_catalog.clock_timestamp()) as time
  from public.revision`;
/**
 * One text, so that it takes one round trip, and one session behind a pooler. The level is named, and it is that of a
 * reading: role or database may have set SERIALIZABLE, which a hot standby refuses, or DEFERRABLE, which waits. Row
 * level security makes it fail, and not see no rows.
 */
const POLL = `begin isolation level repeatable read, read only, not deferrable;
  set local statement_timeout = ${STATEMENT_TIMEOUT_MS};
  set local row_security = off;
  ${SELECT_REVISIONS};
  commit`;

export interface DatabaseAnswer {
  readonly revision: string;
  /** The database's clock when it answered, in milliseconds since the epoch. */
  readonly databaseEpochMs: number;
}

/** The present revision of a topic, outside of a transaction. */
export async function pollRevision(session: Session, topic: TopicName): Promise<DatabaseAnswer> {
  const answer: unknown = await session.query(POLL);
  // pg gives a list with a result for each statement, which its types do not say
  const results: readonly QueryResult<RevisionRow>[] = Array.isArray(answer) ? answer : [];
  const selected = results.find(({ command }) => command === 'SELECT');
  if (!selected) throw new Error('the answer to the poll has no result of its SELECT');
  return findRevision(topic, selected.rows);
}

/** The revision that belongs to everything that the transaction of the session sees. */
export async function readRevision(session: Session, topic: TopicName): Promise<string> {
  const { rows } = await session.query<RevisionRow>(SELECT_REVISIONS);
  return findRevision(topic, rows).revision;
}

function findRevision(topic: TopicName, rows: readonly RevisionRow[]): DatabaseAnswer {
  const row = rows.find((each) => each.topic === topic);
  if (!row) {
    const remedy = `insert into public.revision (topic) values ('${topic}');`;
    throw new Error(`the table revision has no row for ${topic}. As the owner: ${remedy}`);
  }
  return { revision: row.stamp, databaseEpochMs: Number(row.time) * 1000 };
}
