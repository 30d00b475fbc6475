import type { Client } from 'pg';

/** The three answers as callers see them. Lists keep their order. */
export interface Answers {
  readonly areas: Readonly<
    Record<string, readonly { readonly property: string; readonly values: readonly string[] }[]>
  >;
  readonly records: readonly {
    readonly codeType: string;
    readonly code: string;
    readonly description: string;
  }[];
}

/** The answers as of the transaction of `client`: nothing where the tables are not there yet. */
export async function readAnswers(client: Client): Promise<Answers> {
  const { rows: tables } = await client.query(
    `select where to_regclass('public.area_property') is not null and to_regclass('public.communication_code') is not null`,
  );
  const areas: Record<string, { property: string; values: string[] }[]> = {
    'order-update': [],
    'order-capture-v2': [],
  };
  if (tables.length === 0) return { areas, records: [] };
  const { rows } = await client.query<{ area: string; property: string; values: string[] }>(
    `select area, property, array(select value::text from public.code_list_value v where v.code_list = p.code_list order by v.position) as values
     from public.area_property p order by area, position`,
  );
  for (const { area, property, values } of rows) (areas[area] ??= []).push({ property, values });
  const records = await client.query<Answers['records'][number]>(
    `select code_type as "codeType", code, description from public.communication_code order by code_type collate "C", code collate "C"`,
  );
  return { areas, records: records.rows };
}
