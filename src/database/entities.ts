// The tables that the service reads. It never writes to them.
import { Column, Entity, PrimaryColumn, type ValueTransformer } from 'typeorm';

/**
 * A timestamptz as milliseconds since the epoch; `from` also reads its text in the record of changes. The entities are only read.
 * @param absent stands for null
 */
const momentOr = (absent: number): ValueTransformer => ({
  from: (value: Date | string | number | null) =>
    typeof value === 'number' ? value : value === null ? absent : new Date(value).getTime(),
  to: (value: unknown) => value,
});

const orNever = momentOr(Infinity);

/** When a code is in force: from `validFrom` until just before `validUntil`, in milliseconds since the epoch; infinite without a bound. */
export abstract class Validity {
  @Column('timestamptz', { name: 'valid_from', transformer: momentOr(-Infinity) })
  validFrom: number;
  @Column('timestamptz', { name: 'valid_until', transformer: orNever })
  validUntil: number;
}

/** Which property of which area returns which list. */
@Entity('area_property')
export class AreaProperty {
  @PrimaryColumn('text') area: string;
  @PrimaryColumn('text') property: string;
  @Column('int') position: number;
  @Column('text', { name: 'code_list' }) codeList: string;
}

/** One value of a list. Values keep their order by position. */
@Entity('code_list_value')
export class CodeListValue extends Validity {
  @PrimaryColumn('text', { name: 'code_list' }) codeList: string;
  @PrimaryColumn('text') value: string;
  @Column('int') position: number;
}

@Entity('communication_code')
export class CommunicationCode extends Validity {
  @PrimaryColumn('text', { name: 'code_type' }) codeType: string;
  @PrimaryColumn('text') code: string;
  @Column('text') description: string;
}

@Entity('api_key')
export class ApiKey {
  @PrimaryColumn('uuid') id: string;
  @Column('text') client: string;
  /** SHA-256 of the key, 32 bytes. */
  @Column('bytea', { name: 'key_hash' }) keyHash: Buffer;
  /** Milliseconds since the epoch, like `revokedAt`; Infinity if there is no such time. */
  @Column('timestamptz', { name: 'expires_at', transformer: orNever }) expiresAt: number;
  @Column('timestamptz', { name: 'revoked_at', transformer: orNever }) revokedAt: number;
}
