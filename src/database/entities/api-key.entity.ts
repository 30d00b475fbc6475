import { Column, Entity, PrimaryColumn } from 'typeorm';
import { momentOr } from './validity.js';

const transformer = momentOr(Infinity);

@Entity('api_key')
export class ApiKey {
  @PrimaryColumn('uuid') id: string;
  @Column('text') client: string;
  /** SHA-256 of the key, 32 bytes. */
  @Column('bytea', { name: 'key_hash' }) keyHash: Buffer;
  /** Milliseconds since the epoch, like `revokedAt`; Infinity if there is no such time. */
  @Column('timestamptz', { name: 'expires_at', transformer }) expiresAt: number;
  @Column('timestamptz', { name: 'revoked_at', transformer }) revokedAt: number;
}
