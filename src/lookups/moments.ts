import type { Validity } from '../database/entities/validity.js';
import type { CodeRows } from './code-rows.js';

/**
 * The last moment until `moment` at which a code began or ended, and the next one after it; infinite where there is none. Between the two the
 * answers are the same.
 */
export function momentsAround({ values, records }: CodeRows, moment: number): [number, number] {
  let [last, next] = [-Infinity, Infinity];
  const look = ({ validFrom, validUntil }: Validity): void => {
    for (const bound of [validFrom, validUntil])
      if (bound <= moment) last = Math.max(last, bound);
      else next = Math.min(next, bound);
  };
  values.forEach(look);
  for (const { validity } of records) look(validity);
  return [last, next];
}
