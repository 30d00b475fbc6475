// Checks of what was read from a file of LAST_GOOD_FOLDER, whose form nobody vouches for. Each returns what it was
// given, or throws an Error that says what is wrong.
import assert from 'node:assert';

export type JsonObject = Readonly<Record<string, unknown>>;

export function assertObject(json: unknown): JsonObject {
  if (typeof json !== 'object' || json === null) throw new Error('it is damaged: no object');
  return json as JsonObject;
}

export function assertObjects(json: unknown): readonly JsonObject[] {
  if (!Array.isArray(json)) throw new Error('it is damaged: no list');
  return json.map((element) => assertObject(element));
}

export function assertText(json: unknown): string {
  if (typeof json !== 'string') throw new Error('it is damaged: no text');
  return json;
}

export function assertNumber(json: unknown): number {
  if (typeof json !== 'number') throw new Error('it is damaged: no number');
  return json;
}

/** @param absentMs stands for null */
export function assertMoment(json: unknown, absentMs: number): number {
  if (json === null) return absentMs;
  return assertNumber(json);
}

/** JSON has no infinite numbers, so a bound that there is not is null. It would make null of NaN as well. */
export function momentToJson(momentMs: number): number | null {
  assert(!Number.isNaN(momentMs), 'NaN is no moment');
  return Number.isFinite(momentMs) ? momentMs : null;
}
