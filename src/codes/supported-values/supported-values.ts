import { Answer } from '../../http/answer.js';
import { RefusedSnapshot } from '../../snapshots/refused-snapshot.js';
import {
  PRESENT,
  type Transaction,
  VALIDITY,
  type Validity,
  isInForce,
  validityOf,
} from '../rows.js';
import { groupBy } from '../group-by.js';

export const AREAS = ['order-update', 'order-capture-v2'] as const;
export type Area = (typeof AREAS)[number];

export interface Property {
  readonly area: string;
  readonly property: string;
  readonly codeList: string;
}

export interface ListedValue extends Validity {
  readonly codeList: string;
  readonly value: string;
}

/** The properties of both areas and the values of all lists, for all moments. */
export class SupportedValues {
  /**
   * @param properties in the order of the answers
   * @param values in the order of their lists
   * @throws RefusedSnapshot if an area has no property, or a name is empty or occurs twice
   */
  constructor(
    readonly properties: readonly Property[],
    readonly values: readonly ListedValue[],
  ) {
    for (const area of AREAS)
      if (!properties.some((property) => property.area === area))
        throw new RefusedSnapshot(
          `the area ${area} has no property: area_property needs a row for each`,
        );
    assertDistinct(properties.map(({ area, property }) => [`area ${area}`, property]));
    assertDistinct(values.map(({ codeList, value }) => [`list ${codeList}`, value]));
  }

  /** The first moment after `moment` at which one of the values begins or ends, or Infinity. */
  nextMoment(moment: number): number {
    let next = Infinity;
    for (const { from, until } of this.values) {
      if (from > moment) next = Math.min(next, from);
      else if (until > moment) next = Math.min(next, until);
    }
    return next;
  }

  /** The answer of each area at a moment. */
  at(moment: number): Record<Area, Answer> {
    const inForce = this.values.filter((value) => isInForce(value, moment));
    const lists = groupBy(inForce, ({ codeList }) => codeList);
    const answerOf = (wanted: Area): Answer => {
      const members = this.properties
        .filter(({ area }) => area === wanted)
        .map(
          ({ property, codeList }) =>
            `${JSON.stringify(property)}:${JSON.stringify((lists.get(codeList) ?? []).map(({ value }) => value))}`,
        );
      return Answer.of(Buffer.from(`{${members.join(',')}}`)); // not from an object, which would move names that look like numbers to the front
    };
    return Object.fromEntries(AREAS.map((area) => [area, answerOf(area)])) as Record<Area, Answer>;
  }
}

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

/** The constraints of the database prevent these. If one was dropped, callers must not get broken answers. */
function assertDistinct(names: readonly (readonly [where: string, name: string])[]): void {
  const seen = new Set<string>();
  for (const [where, name] of names) {
    const key = JSON.stringify([where, name]);
    if (name.trim() === '' || seen.has(key))
      throw new RefusedSnapshot(
        `the ${where} holds ${JSON.stringify(name)} twice, or an empty name`,
      );
    seen.add(key);
  }
}
