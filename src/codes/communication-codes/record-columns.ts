import { RefusedSnapshot } from '../../snapshots/refused-snapshot.js';

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
