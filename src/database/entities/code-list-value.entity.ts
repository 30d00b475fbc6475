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
}
