import { Column, Entity, PrimaryColumn, type ValueTransformer } from 'typeorm';

// The one definition of the tables in TypeScript: `tables.ts` reads names, keys, columns and orders from the
// decorators. Entities are only read, never saved. A new column also needs a migration, which adds it to the database.

/**
 * Returns a transformer from timestamptz to milliseconds since the epoch.
 * @param absentMs the value for null
 */
function toMilliseconds(absentMs: number): ValueTransformer {
  return {
    from(value: Date | number | null): number {
      if (value === null) return absentMs;
      // pg returns a number only for infinity, which the constraints forbid
      if (typeof value === 'number') return value;
      const timeMs = value.getTime();
      // Each comparison with NaN is false, so a revoked key would be accepted, and a code would never be in force
      if (Number.isNaN(timeMs)) throw new RangeError('a time is outside the range of a JavaScript Date');
      return timeMs;
    },
    to: (value: unknown) => value, // unused, because entities are only read
  };
}

export const fromAlways = toMilliseconds(-Infinity);
export const untilNever = toMilliseconds(Infinity);

/**
 * The time in which a code is in force: from `validFromMs` until just before `validUntilMs`, in milliseconds since the
 * epoch. A missing bound is infinite.
 */
export interface Validity {
  readonly validFromMs: number;
  readonly validUntilMs: number;
}

abstract class ValidityColumns implements Validity {
  @Column('timestamptz', { name: 'valid_from', nullable: true, transformer: fromAlways })
  validFromMs: number;

  @Column('timestamptz', { name: 'valid_until', nullable: true, transformer: untilNever })
  validUntilMs: number;
}

/** The names of all lists. Only the commands read this table. */
@Entity('code_list', { orderBy: { name: 'ASC' } })
export class CodeList {
  @PrimaryColumn('text') name: string;
}

/** The list that a property of an area returns. */
@Entity('area_property', { orderBy: { area: 'ASC', position: 'ASC' } })
export class AreaProperty {
  @PrimaryColumn('text') area: string;
  @PrimaryColumn('text') property: string;
  @Column('int') position: number;
  @Column('text', { name: 'code_list' }) codeList: string;
}

/** One value of a list. The values are answered in the order of their positions. */
@Entity('code_list_value', { orderBy: { codeList: 'ASC', position: 'ASC' } })
export class CodeListValue extends ValidityColumns {
  @PrimaryColumn('text', { name: 'code_list' }) codeList: string;
  @PrimaryColumn('text') value: string;
  @Column('int') position: number;
}

@Entity('communication_code', { orderBy: { codeType: 'ASC', code: 'ASC' } })
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

  /** Milliseconds since the epoch, as in `revokedAtMs`. Infinity means that the key never expires. */
  @Column('timestamptz', { name: 'expires_at', nullable: true, transformer: untilNever })
  expiresAtMs: number;

  @Column('timestamptz', { name: 'revoked_at', nullable: true, transformer: untilNever })
  revokedAtMs: number;
}

export const ENTITIES = [CodeList, AreaProperty, CodeListValue, CommunicationCode, ApiKey];
