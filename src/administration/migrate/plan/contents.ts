import type { Client } from 'pg';
import { VALIDITY, type Validity, isInForce, validityOf } from './validity.js';
import { groupBy } from '../../../codes/group-by.js';

export interface Value extends Validity {
  readonly value: string;
}

export interface Record extends Validity {
  readonly codeType: string;
  readonly code: string;
  readonly description: string;
}

/** Everything that the three operations answer from, now and later. */
export interface Contents {
  /** The moment of the reading by the database's clock, in milliseconds since the epoch. */
  readonly now: number;
  /** By area, order-update first, in their order; each with the name of its list. */
  readonly properties: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** By list, in their order. */
  readonly values: ReadonlyMap<string, readonly Value[]>;
  readonly records: readonly Record[];
}

interface Row {
  readonly validity: string | null;
}

const dated = <T extends Row>({ validity, ...row }: T): Omit<T, 'validity'> & Validity => ({
  ...row,
  ...validityOf(validity),
});

/** The contents as seen by the transaction of `client`; empty if the tables do not exist yet. */
export async function readContents(client: Client): Promise<Contents> {
  const { rows } = await client.query<{ now: number; there: boolean }>(
    `select (extract(epoch from now()) * 1000)::float8 as now, to_regclass('public.area_property') is not null
      and to_regclass('public.code_list_value') is not null and to_regclass('public.communication_code') is not null as there`,
  );
  const { now = 0, there } = rows[0] ?? {};
  if (!there) return { now, properties: new Map(), values: new Map(), records: [] };
  const properties = new Map<string, Map<string, string>>();
  const areas = await client.query<{ area: string; property: string; list: string }>(
    'select area, property, code_list as list from public.area_property order by area desc, position',
  );
  for (const { area, property, list } of areas.rows)
    properties.set(area, (properties.get(area) ?? new Map<string, string>()).set(property, list));
  const lists = await client.query<Row & { list: string; value: string }>(
    `select code_list as list, value, ${VALIDITY} as validity from public.code_list_value r order by code_list, position`,
  );
  const values = groupBy(lists.rows.map(dated), ({ list }) => list);
  const records = await client.query<Row & Omit<Record, keyof Validity>>(
    `select code_type as "codeType", code, description, ${VALIDITY} as validity from public.communication_code r order by code_type, code`,
  );
  return { now, properties, values, records: records.rows.map(dated) };
}

/** The names of a list's values at a moment. */
export const valuesAt = (contents: Contents, list: string, moment: number): string[] =>
  (contents.values.get(list) ?? [])
    .filter((value) => isInForce(value, moment))
    .map(({ value }) => value);
