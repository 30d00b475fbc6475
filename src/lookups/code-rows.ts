// The rows from which the answers are made. They include rows that are not in force yet, or not any more.
import type { EntityManager } from 'typeorm';
import { AreaProperty, CodeListValue, CommunicationCode, type Validity } from '../database/entities.js';
import { AREA_PROPERTY, CODE_LIST_VALUE, COMMUNICATION_CODE, describeTable } from '../database/tables.js';

/**
 * The areas that answer with lists of values. The constraint area_property_area_is_known allows the same names. If you
 * add an area that has no property in the database, the service serves no codes at all.
 */
export const AREAS = ['order-update', 'order-capture-v2'] as const;
export type Area = (typeof AREAS)[number];
/** The area that answers with communication codes. */
export const ORDER_SCHEDULING = 'order-scheduling';

/** The rows are in the order of the answers. */
export interface CodeRows {
  readonly properties: readonly AreaProperty[];
  readonly values: readonly CodeListValue[];
  readonly records: readonly CommunicationCode[];
}

export const CODE_TABLES = [AREA_PROPERTY, CODE_LIST_VALUE, COMMUNICATION_CODE];

export const ALWAYS: Validity = { validFromMs: -Infinity, validUntilMs: Infinity };

export const isInForce = ({ validFromMs, validUntilMs }: Validity, timeMs: number): boolean =>
  validFromMs <= timeMs && timeMs < validUntilMs;

export async function readCodes(manager: EntityManager): Promise<CodeRows> {
  return {
    properties: await readTable(manager, AreaProperty),
    values: await readTable(manager, CodeListValue),
    records: await readTable(manager, CommunicationCode),
  };
}

/** Reads a table in the order that its entity names: texts by code point. PostgreSQL would sort them by its locale. */
function readTable<Row extends object>(manager: EntityManager, entity: new () => Row): Promise<Row[]> {
  const query = manager.createQueryBuilder(entity, 'entry');
  for (const expression of describeTable(entity).order) query.addOrderBy(`entry.${expression}`);
  return query.getMany();
}

/** @throws Error if an area has no property. PostgreSQL does not check this: a check constraint sees only one row */
export function assertAreas({ properties }: CodeRows): void {
  for (const area of AREAS) {
    const hasProperty = properties.some((property) => property.area === area);
    if (!hasProperty) throw new Error(`the area ${area} has no property. The table area_property needs a row for it`);
  }
}
