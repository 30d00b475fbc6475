// The revision of a topic is a random UUID, in the column `stamp` of the table `revision`. Triggers write a new UUID in
// each transaction that changes the topic. So different contents have different revisions, even after a restore.
import type { Session } from '../database/session.js';

/** The two topics, which change independently: codes (lists, properties, records) and API keys. */
export type TopicName = 'codes' | 'keys';

export interface RevisionAnswer {
  readonly revision: string;
  /** The time of the answer by the database's clock, in milliseconds since the epoch. */
  readonly databaseEpochMs: number;
}

interface RevisionRow {
  readonly stamp: string;
  /** The database's clock in seconds since the epoch. pg returns a numeric as a string. */
  readonly time: string;
}

const SELECT_REVISION = `select stamp, extract(epoch from pg_catalog.clock_timestamp()) as time
  from public.revision where topic = $1`;

/** Returns the revision of the content that the session's transaction sees. */
export async function readRevision(session: Session, topic: TopicName): Promise<RevisionAnswer> {
  const { rows } = await session.query<RevisionRow>(SELECT_REVISION, [topic]);
  const [row] = rows;
  if (!row) {
    const remedy = `insert into public.revision (topic) values ('${topic}');`;
    throw new Error(`the table revision has no row for ${topic}. Run as the owner: ${remedy}`);
  }
  return { revision: row.stamp, databaseEpochMs: Number(row.time) * 1000 };
}
