// The rows that the answers are made of, of all moments, as they are kept in memory.
import { RefusedSnapshot } from '../snapshots/refused-snapshot.js';

export const AREAS = ['order-update', 'order-capture-v2'] as const;
export type Area = (typeof AREAS)[number];

/** When a code is in force: from `validFrom` until just before `validUntil`, in milliseconds since the epoch; infinite without a bound. */
export interface Validity {
  readonly validFrom: number;
  readonly validUntil: number;
}

export interface Property {
  readonly area: string;
  readonly property: string;
  readonly codeList: string;
}

export interface ListedValue extends Validity {
  readonly codeList: string;
  readonly value: string;
}

/** A communication code, with its text in the answers. There may be very many, so each is few objects. */
export interface CodeRecord {
  readonly codeType: string;
  readonly code: string;
  readonly json: string;
  readonly validity: Validity;
}

/** Everything that the three operations are answered from, in the order of the answers. */
export interface CodeRows {
  readonly properties: readonly Property[];
  readonly values: readonly ListedValue[];
  readonly records: readonly CodeRecord[];
}

const ALWAYS: Validity = { validFrom: -Infinity, validUntil: Infinity };

/** @param types the names of code types that are known already: records share them */
export function recordOf(
  { codeType, code, description, validFrom, validUntil }: RecordRow,
  types: Map<string, string>,
): CodeRecord {
  const type = types.get(codeType) ?? codeType;
  types.set(type, type);
  return {
    codeType: type,
    code,
    json: JSON.stringify({ codeType, code, description }),
    validity:
      validFrom === -Infinity && validUntil === Infinity ? ALWAYS : { validFrom, validUntil },
  };
}

export interface RecordRow extends Validity {
  readonly codeType: string;
  readonly code: string;
  readonly description: string;
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
  assertDistinct(
    'area',
    properties,
    ({ area }) => area,
    ({ property }) => property,
  );
  assertDistinct(
    'list',
    values,
    ({ codeList }) => codeList,
    ({ value }) => value,
  );
  for (const [at, { codeType, code }] of records.entries()) {
    const next = records[at + 1];
    if (codeType === '' || code === '' || (next?.codeType === codeType && next.code === code))
      throw new RefusedSnapshot(
        `the code type ${JSON.stringify(codeType)} holds ${JSON.stringify(code)} twice, or an empty name`,
      );
  }
}

function assertDistinct<Row>(
  kind: string,
  rows: readonly Row[],
  whereOf: (row: Row) => string,
  nameOf: (row: Row) => string,
): void {
  const seen = new Set<string>();
  for (const row of rows) {
    const name = nameOf(row);
    const key = JSON.stringify([whereOf(row), name]);
    if (name.trim() === '' || seen.has(key))
      throw new RefusedSnapshot(
        `the ${kind} ${whereOf(row)} holds ${JSON.stringify(name)} twice, or an empty name`,
      );
    seen.add(key);
  }
}
