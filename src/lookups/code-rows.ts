// The rows that the answers are made of, of all moments, as they are kept in memory.
import type {
  AreaProperty,
  CodeListValue,
  CommunicationCode,
  Validity,
} from '../database/entities.js';
import { RefusedSnapshot } from '../snapshots/source.js';

export const AREAS = ['order-update', 'order-capture-v2'] as const;
export type Area = (typeof AREAS)[number];

/** A communication code, with its text in the answers. There may be very many, so each is few objects. */
export interface CodeRecord {
  readonly codeType: string;
  readonly code: string;
  readonly json: string;
  readonly validity: Validity;
}

/** Everything that the three operations are answered from, in the order of the answers. */
export interface CodeRows {
  readonly properties: readonly AreaProperty[];
  readonly values: readonly CodeListValue[];
  readonly records: readonly CodeRecord[];
}

export const ALWAYS: Validity = { validFrom: -Infinity, validUntil: Infinity };

/** @param types the names of code types that are known already: records share them */
export function recordOf(
  { codeType, code, description, validFrom, validUntil }: CommunicationCode,
  types: Map<string, string>,
): CodeRecord {
  const type = types.get(codeType) ?? codeType;
  types.set(type, type);
  const isAlways = validFrom === -Infinity && validUntil === Infinity;
  return {
    codeType: type,
    code,
    json: JSON.stringify({ codeType, code, description }),
    validity: isAlways ? ALWAYS : { validFrom, validUntil },
  };
}

export const isInForce = ({ validFrom, validUntil }: Validity, moment: number): boolean =>
  validFrom <= moment && moment < validUntil;

/**
 * The constraints of the database prevent these faults. Where one was dropped, callers must not get broken answers.
 * @throws RefusedSnapshot if an area has no property, or a name is empty or occurs twice
 */
export function assertServable({ properties, values, records }: CodeRows): void {
  for (const wanted of AREAS)
    if (!properties.some(({ area }) => area === wanted))
      throw new RefusedSnapshot(
        `the area ${wanted} has no property: area_property needs a row for each`,
      );
  assertNames('area', properties, ({ area, property }) => [area, property]);
  assertNames('list', values, ({ codeList, value }) => [codeList, value]);
  assertNames('code type', records, ({ codeType, code }) => [codeType, code]);
}

function assertNames<Row>(kind: string, rows: readonly Row[], namesOf: (row: Row) => string[]) {
  let place: string | undefined;
  let seen = new Set<string>();
  for (const row of rows) {
    const [where = '', name = ''] = namesOf(row); // the rows of a place follow each other
    if (where !== place) [place, seen] = [where, new Set()];
    if (name.trim() === '' || seen.has(name))
      throw new RefusedSnapshot(
        `the ${kind} ${JSON.stringify(where)} holds ${JSON.stringify(name)} twice, or an empty name`,
      );
    seen.add(name);
  }
}
