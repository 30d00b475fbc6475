import type { TestDatabase } from './database.js';
import { ALL_PATHS, PATHS } from './paths.js';

const IN_FORCE = 'coalesce(valid_from <= now(), true) and coalesce(valid_until > now(), true)';

/** What the three operations have to answer now, by plain queries and the JSON of Node.js. */
export async function answersByQuery({
  query,
}: Pick<TestDatabase, 'query'>): Promise<Record<string, string>> {
  const records = await query(
    `select code_type as "codeType", code, description from communication_code where ${IN_FORCE} order by code_type collate "C", code collate "C"`,
  );
  const properties = await query<{ area: string; property: string; values: string[] }>(
    `select area, property, array(select value from code_list_value v where v.code_list = p.code_list and ${IN_FORCE} order by position) as values
     from area_property p order by area, position`,
  );
  const supportedValues = (area: string): string =>
    JSON.stringify(
      Object.fromEntries(
        properties.filter((row) => row.area === area).map((row) => [row.property, row.values]),
      ),
    );
  return {
    [PATHS.orderUpdate]: supportedValues('order-update'),
    [PATHS.orderCaptureV2]: supportedValues('order-capture-v2'),
    [PATHS.communicationCodes]: JSON.stringify({ communicationRecords: records }),
  };
}

/** What a replica answers to them. */
export const answersOf = async (
  url: string,
  headers: Record<string, string>,
): Promise<Record<string, string>> =>
  Object.fromEntries(
    await Promise.all(
      ALL_PATHS.map(async (path) => [path, await (await fetch(url + path, { headers })).text()]),
    ),
  ) as Record<string, string>;
