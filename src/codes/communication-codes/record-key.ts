// Compares the keys of a record inside its JSON: `{"codeType":"…","code":"…","description":"…"}`. Keys hold no control characters, so the only
// escapes in them are \" and \\, and the order of the UTF-8 bytes is that of the code points.

export type KeyField = 'codeType' | 'code';
/** The keys that identify a record. */
export type Key = Readonly<Record<KeyField, string>>;
/** An order of records: by one key, then by the other. */
export type Fields = readonly [KeyField, KeyField];

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const TYPE_AT = '{"codeType":"'.length;
const BETWEEN = '","code":"'.length;

/** The keys in the order of `fields`, in the form in which they are compared. */
export const valuesOf = (key: Key, fields: Fields): Buffer[] =>
  fields.map((field) => Buffer.from(key[field]));

/** Order of the record that starts at `start` relative to the values of its leading fields: negative, 0 or positive. */
export function compareKeys(
  json: Buffer,
  start: number,
  fields: Fields,
  values: readonly Buffer[],
): number {
  for (let at = 0; at < values.length; at++) {
    const order = compareKey(json, start, fields[at] as KeyField, values[at] as Buffer);
    if (order !== 0) return order;
  }
  return 0;
}

function compareKey(json: Buffer, start: number, field: KeyField, value: Buffer): number {
  let at = start + TYPE_AT;
  if (field === 'code') at = endOfString(json, at) + BETWEEN;
  for (let index = 0; ; index++, at++) {
    let byte = json[at] as number;
    if (byte === QUOTE) return index === value.length ? 0 : -1;
    if (byte === BACKSLASH) byte = json[++at] as number;
    if (index === value.length) return 1;
    const order = byte - (value[index] as number);
    if (order !== 0) return order;
  }
}

function endOfString(json: Buffer, from: number): number {
  let at = from;
  while (json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return at;
}
