import { Column, Entity, PrimaryColumn, type ValueTransformer } from 'typeorm';

// The tables that the service reads. It never writes to them.

/**
 * A timestamptz as milliseconds since the epoch. It comes as a Date from a table, and as a text from the record of
 * changes, which holds rows as JSON.
 * @param absentMs stands for null
 */
function momentOr(absentMs: number): ValueTransformer {
  return {
    from(value: Date | string | number | null): number {
      if (value === null) return absentMs;
      if (typeof value === 'number') return value;
      return new Date(value).getTime();
    },
    to: (value: unknown) => value,
  };
}

const momentOrAlways = momentOr(-Infinity);
const momentOrNever = momentOr(Infinity);

/** When a code is in force: from `validFrom` until just before `validUntil`, infinite where there is no bound. */
export interface Validity {
  readonly validFrom: number;
  readonly validUntil: number;
}

abstract class ValidityColumns implements Validity {
  @Column('timestamptz', { name: 'valid_from', transformer: momentOrAlways })
  validFrom: number;

  @Column('timestamptz', { name: 'valid_until', transformer: momentOrNever })
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
export class CodeListValue extends ValidityColumns {
  @PrimaryColumn('text', { name: 'code_list' }) codeList: string;
  @PrimaryColumn('text') value: string;
  @Column('int') position: number;
}

@Entity('communication_code')
export class CommunicationCode extends ValidityColumns {
  @PrimaryColumn('text', { name: 'code_type' }) codeType: string;
  @PrimaryColumn('text') code: string;
  @Column('text') description: string;
}

@Entity('api_key')
export class ApiKey {
  @PrimaryColumn('uuid') id: string;
  @Column('text') client: string;

  /** SHA-256 of the key, 32 bytes. */
  @Column('bytea', { name: 'key_hash' })
  keyHash: Buffer;

  @Column('timestamptz', { name: 'expires_at', transformer: momentOrNever })
  expiresAt: number;

  @Column('timestamptz', { name: 'revoked_at', transformer: momentOrNever })
  revokedAt: number;
}
