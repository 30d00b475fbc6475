import type { EntityManager } from 'typeorm';
import { Revision, type Topic } from '../database/entities/revision.entity.js';

/** The revision of a topic, as of the transaction of `manager`. */
export async function readRevision(manager: EntityManager, topic: Topic): Promise<string> {
  const row = await manager
    .getRepository(Revision)
    .createQueryBuilder('r')
    .select('sum(r.value)::text', 'revision')
    .where({ topic })
    .getRawOne<{ revision: string | null }>();
  if (!row?.revision)
    throw new Error(`the table revision has no row for ${topic}: apply the migrations`);
  return row.revision;
}
