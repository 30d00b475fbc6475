import { Column, type ValueTransformer } from 'typeorm';

/**
 * A timestamptz as milliseconds since the epoch; `from` also reads its text in the record of changes. The entities are only read.
 * @param absent stands for null
 */
export const momentOr = (absent: number): ValueTransformer => ({
  from: (value: Date | string | number | null) =>
    typeof value === 'number' ? value : value === null ? absent : new Date(value).getTime(),
  to: (value: unknown) => value,
});

/** When a code is in force: from `validFrom` until just before `validUntil`, in milliseconds since the epoch; infinite without a bound. */
export abstract class Validity {
  @Column('timestamptz', { name: 'valid_from', transformer: momentOr(-Infinity) })
  validFrom: number;
  @Column('timestamptz', { name: 'valid_until', transformer: momentOr(Infinity) })
  validUntil: number;
}
