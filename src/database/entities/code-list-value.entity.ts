import { Column, Entity, PrimaryColumn } from 'typeorm';
import { Validity } from './validity.js';

/** One value of a list. Values keep their order by position. */
@Entity('code_list_value')
export class CodeListValue extends Validity {
  @PrimaryColumn('text', { name: 'code_list' }) codeList: string;
  @PrimaryColumn('text') value: string;
  @Column('int') position: number;
}
