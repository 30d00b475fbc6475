import type { Validity } from '../database/entities.js';
import {
  type JsonObject,
  assertLowerBound,
  assertNumber,
  assertObject,
  assertObjects,
  assertText,
  assertUpperBound,
  momentToJson,
} from '../snapshots/json-form.js';
import { type CodeRows, assertServable } from './code-rows.js';

/** The rows as a file of LAST_GOOD_FOLDER holds them. */
export const codeRowsToJson = ({ properties, values, records }: CodeRows): unknown => ({
  properties,
  values: values.map(({ codeList, value, position, validFromMs, validUntilMs }) => ({
    codeList,
    value,
    position,
    validFromMs: momentToJson(validFromMs),
    validUntilMs: momentToJson(validUntilMs),
  })),
  records: records.map(({ codeType, code, description, validFromMs, validUntilMs }) => ({
    codeType,
    code,
    description,
    validFromMs: momentToJson(validFromMs),
    validUntilMs: momentToJson(validUntilMs),
  })),
});

/** @throws Error if it is not what `codeRowsToJson` makes, or cannot be served */
export function codeRowsFromJson(json: unknown): CodeRows {
  const { properties, values, records } = assertObject(json, 'value');
  const rows: CodeRows = {
    properties: assertObjects(properties, 'properties').map(({ area, property, position, codeList }) => ({
      area: assertText(area, 'area'),
      property: assertText(property, 'property'),
      position: assertNumber(position, 'position'),
      codeList: assertText(codeList, 'codeList'),
    })),
    values: assertObjects(values, 'values').map(({ codeList, value, position, ...validity }) => ({
      codeList: assertText(codeList, 'codeList'),
      value: assertText(value, 'value'),
      position: assertNumber(position, 'position'),
      ...validityOf(validity),
    })),
    records: assertObjects(records, 'records').map(({ codeType, code, description, ...validity }) => ({
      codeType: assertText(codeType, 'codeType'),
      code: assertText(code, 'code'),
      description: assertText(description, 'description'),
      ...validityOf(validity),
    })),
  };
  assertServable(rows);
  return rows;
}

const validityOf = ({ validFromMs, validUntilMs }: JsonObject): Validity => ({
  validFromMs: assertLowerBound(validFromMs, 'validFromMs'),
  validUntilMs: assertUpperBound(validUntilMs, 'validUntilMs'),
});
