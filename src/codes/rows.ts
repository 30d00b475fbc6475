// The rows from which the answers are made: their tables, their SQL, and what they must fulfil.
import type { EntityManager } from 'typeorm';
import { RefusedSnapshot } from '../snapshots/refused-snapshot.js';

/** Runs the statements of a reading in one transaction. */
export type Transaction = Pick<EntityManager, 'query'>;

/** The tables from which the answers are made, as SQL to follow `from`. */
export interface Tables {
  readonly communicationCode: string;
  readonly codeListValue: string;
  readonly areaProperty: string;
}

/** The present tables. */
export const PRESENT: Tables = {
  communicationCode: 'communication_code',
  codeListValue: 'code_list_value',
  areaProperty: 'area_property',
};

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
/** The text of a validity without bounds. */
export const UNBOUNDED = '-Infinity,Infinity';

export function validityOf(text: string | null): Validity {
  const [from, until] = (text ?? UNBOUNDED).split(',').map(Number) as [number, number];
  return { from, until };
}

const recordOf = (json: (column: string) => string): string =>
  `'{"codeType":' || ${json('r.code_type')} || ',"code":' || ${json('r.code')} || ',"description":' || ${json('r.description')} || '}'`;
const escaped = recordOf((column) => `to_json(${column})::text`);
const plain = recordOf((column) => `'"' || ${column} || '"'`);

/** A communication code `r` as JSON for callers. To look for characters that need an escape costs less than to_json, and few records have one. */
export const RECORD = `case when r.code_type || r.code || r.description ~ '["\\\\\\u0001-\\u001f]' then ${escaped} else ${plain} end`;

/** Whether the record could not be found by its keys. The constraints of the table prevent this, but may have been dropped. */
export const UNSERVABLE = `(r.code_type ~ '^\\s*$|[[:cntrl:]]' or r.code ~ '^\\s*$|[[:cntrl:]]')`;

const MAX_BYTES = 1024 ** 3;

export function assertServable(repeated: number, unservable: number): void {
  if (repeated > 0)
    throw new RefusedSnapshot(
      `communication_code holds ${repeated} keys twice: its primary key is missing`,
    );
  if (unservable > 0)
    throw new RefusedSnapshot(
      `communication_code holds ${unservable} records with an empty code or control characters`,
    );
}

export function assertSize(bytes: number): void {
  if (bytes > MAX_BYTES)
    throw new RefusedSnapshot(
      `communication_code holds more than the ${MAX_BYTES} bytes that can be served`,
    );
}
