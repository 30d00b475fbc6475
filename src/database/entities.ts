import { Column, Entity, PrimaryColumn, type ValueTransformer } from 'typeorm';

// The only definition of the tables in TypeScript: tables.ts reads names, keys, columns and orders from the decorators.
// Entities are only read, never saved. A new column also needs a migration.

/** Returns a transformer from timestamptz to milliseconds since the epoch. Null becomes `nullMs`. */
function toMilliseconds(nullMs: number): ValueTransformer {
  return {
    from(value: Date | number | null): number {
      if (value === null) return nullMs;
      // pg returns a number only for infinity, which the constraints forbid
      if (typeof value === 'number') return value;
      const timeMs = value.getTime();
      // NaN must not pass: each comparison with it is false, so a revoked key would be accepted
      if (Number.isNaN(timeMs)) throw new RangeError('a time is outside the range of a JavaScript Date');
      return timeMs;
    },
    to: (value: unknown) => value, // unused, because entities are only read
  };
}

export const nullIsPast = toMilliseconds(-Infinity);
export const nullIsNever = toMilliseconds(Infinity);

/** A code is in force from `validFromMs` until just before `validUntilMs`. A missing bound is -Infinity or Infinity. */
export interface Validity {
  readonly validFromMs: number;
  readonly validUntilMs: number;
}

abstract class ValidityColumns implements Validity {
  @Column('timestamptz', { name: 'valid_from', nullable: true, transformer: nullIsPast })
  validFromMs: number;

  @Column('timestamptz', { name: 'valid_until', nullable: true, transformer: nullIsNever })
  validUntilMs: number;
}

/** The names of all lists. Only the commands read this table. */
@Entity('code_list', { orderBy: { name: 'ASC' } })
export class CodeList {
  @PrimaryColumn('text') name: string;
}

/** A property in the answer of an area such as `order-update`, and the list whose values it contains. */
@Entity('area_property', { orderBy: { area: 'ASC', position: 'ASC' } })
export class AreaProperty {
  @PrimaryColumn('text') area: string;
  @PrimaryColumn('text') property: string;
  @Column('int') position: number;
  @Column('text', { name: 'code_list' }) codeList: string;
}

/** One value of a list. An answer has the values in the order of their positions. */
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

  /** Infinity means that the key never expires. */
  @Column('timestamptz', { name: 'expires_at', nullable: true, transformer: nullIsNever })
  expiresAtMs: number;

  @Column('timestamptz', { name: 'revoked_at', nullable: true, transformer: nullIsNever })
  revokedAtMs: number;
}

export const ENTITIES = [CodeList, AreaProperty, CodeListValue, CommunicationCode, ApiKey];
