import { PRESENT, type Transaction } from '../tables.js';
import { VALIDITY, validityOf } from '../validity.js';
import { type Property, SupportedValues } from './supported-values.js';

/** Reads the supported values for all moments: properties and values in the order of their positions. */
export async function readSupportedValues(
  transaction: Transaction,
  { areaProperty, codeListValue } = PRESENT,
): Promise<SupportedValues> {
  const properties = await transaction.query<Property[]>(
    `select r.area, r.property, r.code_list as "codeList" from ${areaProperty} r order by r.area, r.position`,
  );
  const values = await transaction.query<
    { codeList: string; value: string; validity: string | null }[]
  >(
    `select r.code_list as "codeList", r.value, ${VALIDITY} as validity from ${codeListValue} r order by r.code_list, r.position`,
  );
  return new SupportedValues(
    properties,
    values.map(({ codeList, value, validity }) => ({ codeList, value, ...validityOf(validity) })),
  );
}
