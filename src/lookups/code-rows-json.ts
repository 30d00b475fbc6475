import type { Validity } from '../database/entities.js';
import {
  type JsonObject,
  momentOf,
  momentToJson,
  numberOf,
  objectOf,
  objectsOf,
  textOf,
} from '../snapshots/json-form.js';
import { type CodeRows, assertServable } from './code-rows.js';

/** The rows as a file of LAST_GOOD_FOLDER holds them. */
export const codeRowsToJson = ({ properties, values, records }: CodeRows): unknown => ({
  properties,
  values: values.map(({ codeList, value, position, validFrom, validUntil }) => ({
    codeList,
    value,
    position,
    validFrom: momentToJson(validFrom),
    validUntil: momentToJson(validUntil),
  })),
  records: records.map(({ codeType, code, description, validFrom, validUntil }) => ({
    codeType,
    code,
    description,
    validFrom: momentToJson(validFrom),
    validUntil: momentToJson(validUntil),
  })),
});

/** @throws Error if it is not what `codeRowsToJson` makes, or cannot be served */
export function codeRowsFromJson(json: unknown): CodeRows {
  const { properties, values, records } = objectOf(json);
  const rows: CodeRows = {
    properties: objectsOf(properties).map(({ area, property, position, codeList }) => ({
      area: textOf(area),
      property: textOf(property),
      position: numberOf(position),
      codeList: textOf(codeList),
    })),
    values: objectsOf(values).map(({ codeList, value, position, ...validity }) => ({
      codeList: textOf(codeList),
      value: textOf(value),
      position: numberOf(position),
      ...validityOf(validity),
    })),
    records: objectsOf(records).map(({ codeType, code, description, ...validity }) => ({
      codeType: textOf(codeType),
      code: textOf(code),
      description: textOf(description),
      ...validityOf(validity),
    })),
  };
  assertServable(rows);
  return rows;
}

const validityOf = ({ validFrom, validUntil }: JsonObject): Validity => ({
  validFrom: momentOf(validFrom, -Infinity),
  validUntil: momentOf(validUntil, Infinity),
});
