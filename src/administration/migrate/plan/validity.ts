/** When a code is in force: from `from` until just before `until`, in milliseconds since the epoch; infinite without a bound. */
export interface Validity {
  readonly from: number;
  readonly until: number;
}

export const isInForce = ({ from, until }: Validity, moment: number): boolean =>
  from <= moment && moment < until;

/** The validity of a row `r`, as text: `from,until`; null without bounds. */
export const VALIDITY = `case when r.valid_from is not null or r.valid_until is not null then
  coalesce((extract(epoch from r.valid_from) * 1000)::text, '-Infinity') || ',' || coalesce((extract(epoch from r.valid_until) * 1000)::text, 'Infinity') end`;

export function validityOf(text: string | null): Validity {
  const [from, until] = (text ?? '-Infinity,Infinity').split(',').map(Number) as [number, number];
  return { from, until };
}
