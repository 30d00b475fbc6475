import type { EntityManager } from 'typeorm';

/** Parts of the content that change independently: the codes (lists, properties, records) and the API keys. */
export type Topic = 'codes' | 'keys';

/**
 * Each transaction that changes a topic replaces its random stamp. So two contents never have the same stamp, whatever was restored or lost.
 * @returns the stamp that the transaction of `manager` sees, and the time of the database in milliseconds since the epoch
 */
export async function readStamp(
  manager: EntityManager,
  topic: Topic,
): Promise<{ readonly stamp: string; readonly time: number }> {
  const [row] = await manager.query<{ stamp: string; time: number }[]>(
    'select stamp, (extract(epoch from clock_timestamp()) * 1000)::float8 as time from public.revision where topic = $1',
    [topic],
  );
  if (row) return row;
  throw new Error(
    `the table revision has no row for ${topic}: as the owner, insert into revision (topic) values ('${topic}')`,
  );
}
