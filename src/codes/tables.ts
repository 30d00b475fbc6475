import type { EntityManager } from 'typeorm';

/** What runs the statements of a reading, in one transaction. */
export type Transaction = Pick<EntityManager, 'query'>;

/** The tables that make the answers, as SQL that stands behind `from`. */
export interface Tables {
  readonly communicationCode: string;
  readonly codeListValue: string;
  readonly areaProperty: string;
}

/** As they are. */
export const PRESENT: Tables = {
  communicationCode: 'communication_code',
  codeListValue: 'code_list_value',
  areaProperty: 'area_property',
};
