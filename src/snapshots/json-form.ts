// The content of a file of LAST_GOOD_FOLDER may have any form: somebody may have changed it, or another release may
// have written it. Each function here checks the form of one value. It gives the value with its type, or throws an
// Error that names what is wrong.
import assert from 'node:assert';

export type JsonObject = Readonly<Record<string, unknown>>;

/** @param name names the value in the message of an error, like that of the other functions */
export function assertObject(json: unknown, name: string): JsonObject {
  const isObject = typeof json === 'object' && json !== null && !Array.isArray(json);
  if (!isObject) throw damaged(name, 'object');
  return json as JsonObject;
}

export function assertObjects(json: unknown, name: string): readonly JsonObject[] {
  if (!Array.isArray(json)) throw damaged(name, 'list');
  return json.map((element) => assertObject(element, `an element of ${name}`));
}

export function assertText(json: unknown, name: string): string {
  if (typeof json !== 'string') throw damaged(name, 'text');
  return json;
}

export function assertNumber(json: unknown, name: string): number {
  // JSON.parse makes Infinity of 1e999
  if (typeof json !== 'number' || !Number.isFinite(json)) throw damaged(name, 'number');
  return json;
}

/** Reads what `momentToJson` made of `validFromMs`: without such a bound it is -Infinity. */
export function assertLowerBound(json: unknown, name: string): number {
  return json === null ? -Infinity : assertNumber(json, name);
}

/** Reads what `momentToJson` made of an end: without one it is Infinity. */
export function assertUpperBound(json: unknown, name: string): number {
  return json === null ? Infinity : assertNumber(json, name);
}

/**
 * A bound that there is not is infinite, and JSON has no infinite numbers: null stands for it. NaN is a fault of the
 * program. It would become null as well, and so a code or a key without an end.
 */
export function momentToJson(momentMs: number): number | null {
  assert(!Number.isNaN(momentMs), 'NaN is no moment');
  return Number.isFinite(momentMs) ? momentMs : null;
}

function damaged(name: string, kind: string): Error {
  return new Error(`it is damaged: ${name} is no ${kind}`);
}
