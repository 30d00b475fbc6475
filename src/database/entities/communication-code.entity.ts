import { Column, Entity, PrimaryColumn } from 'typeorm';
import { Validity } from './validity.js';

@Entity('communication_code')
export class CommunicationCode extends Validity {
  @PrimaryColumn('text', { name: 'code_type' }) codeType: string;
  @PrimaryColumn('text') code: string;
  @Column('text') description: string;
}
