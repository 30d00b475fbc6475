import type { ValueTransformer } from 'typeorm';

/**
 * A timestamptz as milliseconds since the epoch. The entities are only read.
 * @param absent stands for null
 */
export const momentOr = (absent: number): ValueTransformer => ({
  from: (value: Date | number | null) => (value === null ? absent : Number(value)),
  to: (value: unknown) => value,
});
