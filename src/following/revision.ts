// The revision of a topic: a random UUID, in the column `stamp` of the table `revision`. Triggers write another one in
// each transaction that changes the topic. So two contents never have the same revision, whatever is restored or lost.
import type { Session } from '../database/session.js';

/** The two contents that change independently: codes (lists, properties, records) and API keys. */
export type TopicName = 'codes' | 'keys';

export interface RevisionAnswer {
  readonly revision: string;
  /** The time on the database's clock when it answered, in milliseconds since the epoch. */
  readonly databaseEpochMs: number;
}

interface RevisionRow {
  readonly stamp: string;
  /** The database's clock in seconds since the epoch. PostgreSQL's numeric comes as a text. */
  readonly time: string;
}

const SELECT_REVISION = `select stamp, extract(epoch from pg_catalog.clock_timestamp()) as time
  from public.revision where topic = $1`;

/** Returns the revision that belongs to everything that the transaction of the session sees. */
export async function readRevision(session: Session, topic: TopicName): Promise<RevisionAnswer> {
  const { rows } = await session.query<RevisionRow>(SELECT_REVISION, [topic]);
  const [row] = rows;
  if (!row) {
    const remedy = `insert into public.revision (topic) values ('${topic}');`;
    throw new Error(`the table revision has no row for ${topic}. As the owner: ${remedy}`);
  }
  return { revision: row.stamp, databaseEpochMs: Number(row.time) * 1000 };
}
