import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('api_key')
export class ApiKey {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'text' })
  client: string;

  /** SHA-256 of the key, 32 bytes. */
  @Column({ name: 'key_hash', type: 'bytea' })
  keyHash: Buffer;

  @Column({ name: 'expires_at', type: 'timestamptz', nullable: true })
  expiresAt: Date | null;

  @Column({ name: 'revoked_at', type: 'timestamptz', nullable: true })
  revokedAt: Date | null;
}

/** Which property of which area returns which list. */
@Entity('area_property')
export class AreaProperty {
  @PrimaryColumn({ type: 'text' })
  area: string;

  @PrimaryColumn({ type: 'text' })
  property: string;

  @Column({ type: 'int' })
  position: number;

  @Column({ name: 'code_list', type: 'text' })
  codeList: string;
}

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
