import { RefusedSnapshot } from '../../snapshots/followed-snapshot.js';

/** A communication code `r` as JSON for callers. */
export const RECORD = `'{"codeType":' || to_json(r.code_type)::text || ',"code":' || to_json(r.code)::text || ',"description":' || to_json(r.description)::text || '}'`;

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
