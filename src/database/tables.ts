// Describes the tables from the decorators of their entities, without a connection. The service's queries and the
// commands codes, plan and drift use these descriptions. So they know a new column as soon as its entity has it.
import { getMetadataArgsStorage } from 'typeorm';
import type { ColumnMetadataArgs } from 'typeorm/metadata-args/ColumnMetadataArgs.js';
import { ApiKey, AreaProperty, CodeList, CodeListValue, CommunicationCode } from './entities.js';

export interface Column {
  /** The name in the table: `code_type`. */
  readonly name: string;
  /** The name in the entity and the answers: `codeType`. */
  readonly property: string;
  /** PostgreSQL's type, such as `text`, `int` or `timestamptz`. */
  readonly type: string;
  readonly isKey: boolean;
  /** If true, a CSV file may lack the column, and its empty cells are null. */
  readonly isNullable: boolean;
}

export interface Table {
  readonly name: string;
  /** The columns in the order of a CSV export: first the key, then other columns of the class, then inherited ones. */
  readonly columns: readonly Column[];
  /** The names of the columns of the primary key. */
  readonly key: readonly string[];
  /** The order of the answers, as expressions for ORDER BY. Texts are sorted by code points: `code collate "C"`. */
  readonly order: readonly string[];
}

type Entity = new () => object;

export const CODE_LIST = describeTable(CodeList);
export const CODE_LIST_VALUE = describeTable(CodeListValue);
export const AREA_PROPERTY = describeTable(AreaProperty);
export const COMMUNICATION_CODE = describeTable(CommunicationCode);
export const API_KEY = describeTable(ApiKey);

export const TABLES: readonly Table[] = [CODE_LIST, CODE_LIST_VALUE, AREA_PROPERTY, COMMUNICATION_CODE, API_KEY];

/** @throws Error if the class has no decorators of TypeORM */
export function describeTable(entity: Entity): Table {
  const storage = getMetadataArgsStorage();
  const [table] = storage.filterTables(entity);
  if (table?.name === undefined) throw new Error(`${entity.name} names no table: @Entity('…') is needed`);
  const columns = findClasses(entity).flatMap((owner) => storage.filterColumns(owner).map(describeColumn));
  const key = columns.filter(({ isKey }) => isKey);
  const others = columns.filter(({ isKey }) => !isKey);
  const order = Object.keys(table.orderBy ?? {}).map((property) => orderBy(findColumn(columns, property)));
  return { name: table.name, columns: [...key, ...others], key: key.map(({ name }) => name), order };
}

function describeColumn({ propertyName: property, options }: ColumnMetadataArgs): Column {
  const { name = property, type, primary, nullable } = options;
  return { name, property, type: String(type), isKey: primary === true, isNullable: nullable === true };
}

/** Returns the class and the classes that it extends. */
function findClasses(entity: Entity): Entity[] {
  const parent: unknown = Object.getPrototypeOf(entity);
  const hasParent = typeof parent === 'function' && parent !== Function.prototype;
  return hasParent ? [entity, ...findClasses(parent as Entity)] : [entity];
}

function orderBy({ name, type }: Column): string {
  return type === 'text' ? `${name} collate "C"` : name;
}

function findColumn(columns: readonly Column[], property: string): Column {
  const column = columns.find((each) => each.property === property);
  if (!column) throw new Error(`no column has the property ${property}`);
  return column;
}
