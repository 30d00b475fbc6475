import { Column, Entity, PrimaryColumn } from 'typeorm';

/** One value of a list. Values keep their order by position. */
@Entity('code_list_value')
export class CodeListValue {
  @PrimaryColumn({ name: 'code_list', type: 'text' })
  codeList: string;

  @PrimaryColumn({ type: 'text' })
  value: string;

  @Column({ type: 'int' })
  position: number;

  @Column({ name: 'valid_from', type: 'timestamptz', nullable: true })
  validFrom: Date | null;

  @Column({ name: 'valid_until', type: 'timestamptz', nullable: true })
  validUntil: Date | null;
}
