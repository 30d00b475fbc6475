import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('communication_code')
export class CommunicationCode {
  @PrimaryColumn({ name: 'code_type', type: 'text' })
  codeType: string;

  @PrimaryColumn({ type: 'text' })
  code: string;

  @Column({ type: 'text' })
  description: string;

  @Column({ name: 'valid_from', type: 'timestamptz', nullable: true })
  validFrom: Date | null;

  @Column({ name: 'valid_until', type: 'timestamptz', nullable: true })
  validUntil: Date | null;
}
