// The rows that the answers are made of, those of all validity periods.
import type { EntityManager } from 'typeorm';
import { AreaProperty, CodeListValue, CommunicationCode, type Validity } from '../database/entities.js';
import { AREA_PROPERTY, CODE_LIST_VALUE, COMMUNICATION_CODE, type Table, describeTable } from '../database/tables.js';
import { RefusedContent } from '../following/followed-topic.js';

/**
 * The areas that answer with lists of values: those of the constraint area_property_area_is_known. Where the
 * database has no property of one, no codes at all are served.
 */
export const AREAS = ['order-update', 'order-capture-v2'] as const;
export type Area = (typeof AREAS)[number];
/** The area that answers with communication codes. */
export const ORDER_SCHEDULING = 'order-scheduling';

/** Everything that the operations are answered from, in the order of the answers. */
export interface CodeRows {
  readonly properties: readonly AreaProperty[];
  readonly values: readonly CodeListValue[];
  readonly records: readonly CommunicationCode[];
}

/** The tables of these rows. They are locked first: to an older snapshot a truncated table would look empty. */
export const CODE_TABLES = [AREA_PROPERTY, CODE_LIST_VALUE, COMMUNICATION_CODE];

/** What no text of an answer is: blank, or with a control character, by which no filter may ask. */
const FAULTY_TEXT = /^\s*$|\p{Cc}/u;

export const ALWAYS: Validity = { validFromMs: -Infinity, validUntilMs: Infinity };

/** @param timeMs in milliseconds since the epoch */
export const isInForce = ({ validFromMs, validUntilMs }: Validity, timeMs: number): boolean =>
  validFromMs <= timeMs && timeMs < validUntilMs;

/**
 * The rows that can be served.
 * @throws RefusedContent if they cannot be
 */
export async function readCodes(manager: EntityManager): Promise<CodeRows> {
  const rows = await readRows(manager);
  assertServable(rows);
  return rows;
}

/** All rows, in the order of the answers, whether or not they can be served. */
export async function readRows(manager: EntityManager): Promise<CodeRows> {
  return {
    properties: await readTable(manager, AreaProperty),
    values: await readTable(manager, CodeListValue),
    records: await readTable(manager, CommunicationCode),
  };
}

/**
 * All rows of a table, in the order of its entity. Not by `find()`: where a primary key was dropped, it would make one
 * entity of rows with the same key, and nobody would see that there are two.
 */
async function readTable<Row extends object>(manager: EntityManager, entity: new () => Row): Promise<Row[]> {
  const { columns } = manager.dataSource.getMetadata(entity);
  const query = manager.createQueryBuilder(entity, 'entry').select([]);
  for (const { propertyName } of columns) query.addSelect(`entry.${propertyName}`, propertyName);
  for (const column of describeTable(entity).order) query.addOrderBy(`entry.${column}`);
  const rows = await query.getRawMany<Record<string, unknown>>();
  const { driver } = manager.dataSource;
  for (const row of rows) {
    for (const column of columns) {
      row[column.propertyName] = driver.prepareHydratedValue(row[column.propertyName], column);
    }
  }
  return rows as Row[];
}

/**
 * The constraints of the database prevent these faults. If one was dropped, callers must not get broken answers.
 * @throws RefusedContent if an area has no property, a text is null, blank or has a control character, or a name occurs
 *   twice in its place
 */
export function assertServable({ properties, values, records }: CodeRows): void {
  assertTexts(AREA_PROPERTY, properties);
  assertTexts(CODE_LIST_VALUE, values);
  assertTexts(COMMUNICATION_CODE, records);
  for (const area of AREAS) {
    const hasProperty = properties.some((property) => property.area === area);
    if (hasProperty) continue;
    throw new RefusedContent(`the area ${area} has no property: area_property needs a row for each`);
  }
  const ofAreas = new UniqueNames('area');
  for (const { area, property } of properties) ofAreas.add(area, property);
  const ofLists = new UniqueNames('list');
  for (const { codeList, value } of values) ofLists.add(codeList, value);
  const ofCodeTypes = new UniqueNames('code type');
  for (const { codeType, code } of records) ofCodeTypes.add(codeType, code);
}

/** @throws RefusedContent that names the column, and the row by its key */
function assertTexts(table: Table, rows: readonly object[]): void {
  const columns = table.columns.filter(({ type, isNullable }) => type === 'text' && !isNullable);
  for (const row of rows as readonly Readonly<Record<string, unknown>>[]) {
    for (const { name, property } of columns) {
      const text = row[property];
      if (typeof text === 'string' && !FAULTY_TEXT.test(text)) continue;
      const key = table.columns.filter(({ isKey }) => isKey);
      const where = key.map((column) => `${column.name} is ${JSON.stringify(row[column.property])}`).join(', ');
      const fault = typeof text === 'string' ? 'is blank or has a control character' : 'is no text';
      throw new RefusedContent(`${table.name}.${name} ${fault}: ${JSON.stringify(text)}, where ${where}`);
    }
  }
}

/** The names in all places of one kind. */
class UniqueNames {
  private readonly namesByPlace = new Map<string, Set<string>>();

  constructor(private readonly kind: string) {}

  /** @throws RefusedContent if the name stands in this place already */
  add(place: string, name: string): void {
    const names = this.findNames(place);
    if (names.has(name)) {
      throw new RefusedContent(`the ${this.kind} ${JSON.stringify(place)} holds ${JSON.stringify(name)} twice`);
    }
    names.add(name);
  }

  private findNames(place: string): Set<string> {
    const known = this.namesByPlace.get(place);
    if (known) return known;
    const names = new Set<string>();
    this.namesByPlace.set(place, names);
    return names;
  }
}
