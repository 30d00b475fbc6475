// Checks of what was read from a file of LAST_GOOD_FOLDER, whose form nobody vouches for. All throw an Error.

export type JsonObject = Readonly<Record<string, unknown>>;

export function objectOf(json: unknown): JsonObject {
  if (typeof json !== 'object' || json === null) throw new Error('it is damaged: no object');
  return json as JsonObject;
}

export function objectsOf(json: unknown): readonly JsonObject[] {
  if (!Array.isArray(json)) throw new Error('it is damaged: no list');
  return json.map((element) => objectOf(element));
}

export function textOf(json: unknown): string {
  if (typeof json !== 'string') throw new Error('it is damaged: no text');
  return json;
}

export function numberOf(json: unknown): number {
  if (typeof json !== 'number') throw new Error('it is damaged: no number');
  return json;
}

/** JSON has no infinite numbers: a moment that is none is null. */
export const momentToJson = (momentMs: number): number | null =>
  Number.isFinite(momentMs) ? momentMs : null;

/** @param absentMs stands for null */
export const momentOf = (json: unknown, absentMs: number): number =>
  json === null ? absentMs : numberOf(json);
