import type { EntityManager } from 'typeorm';
import { AreaProperty } from '../../database/entities/area-property.entity.js';
import { CodeListValue } from '../../database/entities/code-list-value.entity.js';
import { VALIDITY, validityOf } from '../validity.js';
import { type Property, SupportedValues } from './supported-values.js';

/**
 * The supported values of every moment: properties and values in the order of their positions.
 * Read as rows: to make entities of them would cost a reload a millisecond more.
 */
export async function readSupportedValues(manager: EntityManager): Promise<SupportedValues> {
  const properties = await manager
    .getRepository(AreaProperty)
    .createQueryBuilder('p')
    .select(['p.area as area', 'p.property as property', 'p.codeList as "codeList"'])
    .orderBy('p.area')
    .addOrderBy('p.position')
    .getRawMany<Property>();
  const values = await manager
    .getRepository(CodeListValue)
    .createQueryBuilder('r')
    .select(['r.codeList as "codeList"', 'r.value as value', `${VALIDITY} as validity`])
    .orderBy('r.codeList')
    .addOrderBy('r.position')
    .getRawMany<{ codeList: string; value: string; validity: string }>();
  return new SupportedValues(
    properties,
    values.map(({ codeList, value, validity }) => ({ codeList, value, ...validityOf(validity) })),
  );
}
