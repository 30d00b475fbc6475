import type { Validity } from '../database/entities.js';
import {
  type JsonObject,
  assertMoment,
  assertNumber,
  assertObject,
  assertObjects,
  assertText,
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
  const { properties, values, records } = assertObject(json);
  const rows: CodeRows = {
    properties: assertObjects(properties).map(({ area, property, position, codeList }) => ({
      area: assertText(area),
      property: assertText(property),
      position: assertNumber(position),
      codeList: assertText(codeList),
    })),
    values: assertObjects(values).map(({ codeList, value, position, ...validity }) => ({
      codeList: assertText(codeList),
      value: assertText(value),
      position: assertNumber(position),
      ...validityOf(validity),
    })),
    records: assertObjects(records).map(({ codeType, code, description, ...validity }) => ({
      codeType: assertText(codeType),
      code: assertText(code),
      description: assertText(description),
      ...validityOf(validity),
    })),
  };
  assertServable(rows);
  return rows;
}

const validityOf = ({ validFromMs, validUntilMs }: JsonObject): Validity => ({
  validFromMs: assertMoment(validFromMs, -Infinity),
  validUntilMs: assertMoment(validUntilMs, Infinity),
});
