import type { EntityManager } from 'typeorm';

/** Runs the statements of a reading in one transaction. */
export type Transaction = Pick<EntityManager, 'query'>;

/** The tables from which the answers are made, as SQL to follow `from`. */
export interface Tables {
  readonly communicationCode: string;
  readonly codeListValue: string;
  readonly areaProperty: string;
}

/** The present tables. */
export const PRESENT: Tables = {
  communicationCode: 'communication_code',
  codeListValue: 'code_list_value',
  areaProperty: 'area_property',
};
