import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The revision of a topic is the sum over its slots: it grows with every commit, and no writer waits for another. */
@Entity('revision')
export class Revision {
  @PrimaryColumn({ type: 'text' })
  topic: Topic;

  @PrimaryColumn({ type: 'int' })
  slot: number;

  /** A bigint, which TypeORM gives as text. */
  @Column({ type: 'bigint' })
  value: string;
}

/** What can change by itself: the codes (lists, properties, records), and the API keys. */
export type Topic = 'codes' | 'keys';
