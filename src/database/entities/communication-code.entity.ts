import { Column, Entity, PrimaryColumn } from 'typeorm';
import { Validity } from './validity.js';

@Entity('communication_code')
export class CommunicationCode extends Validity {
  @PrimaryColumn({ name: 'code_type', type: 'text' })
  codeType: string;

  @PrimaryColumn({ type: 'text' })
  code: string;

  @Column({ type: 'text' })
  description: string;
}
