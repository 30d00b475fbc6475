import { Column, Entity, PrimaryColumn } from 'typeorm';
import { Validity } from './validity.js';

/** One value of a list. Values keep their order by position. */
@Entity('code_list_value')
export class CodeListValue extends Validity {
  @PrimaryColumn({ name: 'code_list', type: 'text' })
  codeList: string;

  @PrimaryColumn({ type: 'text' })
  value: string;

  @Column({ type: 'int' })
  position: number;
}
