import { Column, Entity, PrimaryColumn } from 'typeorm';
import { momentOr } from './validity.js';

@Entity('api_key')
export class ApiKey {
  @PrimaryColumn({ type: 'uuid' })
  id: string;

  @Column({ type: 'text' })
  client: string;

  /** SHA-256 of the key, 32 bytes. */
  @Column({ name: 'key_hash', type: 'bytea' })
  keyHash: Buffer;

  /** Milliseconds since the epoch, like `revokedAt`; Infinity if there is no such time. */
  @Column({ name: 'expires_at', type: 'timestamptz', transformer: momentOr(Infinity) })
  expiresAt: number;

  @Column({ name: 'revoked_at', type: 'timestamptz', transformer: momentOr(Infinity) })
  revokedAt: number;
}
