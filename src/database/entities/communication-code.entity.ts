import { Column, Entity, PrimaryColumn } from 'typeorm';
import { momentOr } from './moment.js';

@Entity('communication_code')
export class CommunicationCode {
  @PrimaryColumn({ name: 'code_type', type: 'text' })
  codeType: string;

  @PrimaryColumn({ type: 'text' })
  code: string;

  @Column({ type: 'text' })
  description: string;

  /** Milliseconds since the epoch, like `validUntil`; infinite without a bound. */
  @Column({ name: 'valid_from', type: 'timestamptz', transformer: momentOr(-Infinity) })
  validFrom: number;

  @Column({ name: 'valid_until', type: 'timestamptz', transformer: momentOr(Infinity) })
  validUntil: number;
}
