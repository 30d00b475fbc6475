import { Column, Entity, PrimaryColumn } from 'typeorm';
import { momentOr } from './moment.js';

/** One value of a list. Values keep their order by position. */
@Entity('code_list_value')
export class CodeListValue {
  @PrimaryColumn({ name: 'code_list', type: 'text' })
  codeList: string;

  @PrimaryColumn({ type: 'text' })
  value: string;

  @Column({ type: 'int' })
  position: number;

  /** Milliseconds since the epoch, like `validUntil`; infinite without a bound. */
  @Column({ name: 'valid_from', type: 'timestamptz', transformer: momentOr(-Infinity) })
  validFrom: number;

  @Column({ name: 'valid_until', type: 'timestamptz', transformer: momentOr(Infinity) })
  validUntil: number;
}
