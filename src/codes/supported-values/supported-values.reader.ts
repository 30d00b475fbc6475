import type { EntityManager } from 'typeorm';
import { AreaProperty } from '../../database/entities/area-property.entity.js';
import { CodeListValue } from '../../database/entities/code-list-value.entity.js';
import { RefusedSnapshot } from '../../snapshots/followed-snapshot.js';
import { Answer } from '../../http/answer.js';

export type Area = 'order-update' | 'order-capture-v2';

/**
 * The supported values of each area, as an answer: properties and values in the order of their positions.
 * Read as rows: to make entities of them would cost a reload a millisecond more.
 */
export async function readSupportedValues(manager: EntityManager): Promise<Record<Area, Answer>> {
  const properties = await manager
    .getRepository(AreaProperty)
    .createQueryBuilder('p')
    .select(['p.area as area', 'p.property as property', 'p.codeList as "codeList"'])
    .orderBy('p.area')
    .addOrderBy('p.position')
    .getRawMany<Pick<AreaProperty, 'area' | 'property' | 'codeList'>>();
  const values = await manager
    .getRepository(CodeListValue)
    .createQueryBuilder('v')
    .select(['v.codeList as "codeList"', 'v.value as value'])
    .orderBy('v.codeList')
    .addOrderBy('v.position')
    .getRawMany<Pick<CodeListValue, 'codeList' | 'value'>>();
  const lists = new Map<string, string[]>();
  for (const { codeList, value } of values) {
    const list = lists.get(codeList) ?? [];
    list.push(value);
    lists.set(codeList, list);
  }
  const answerOf = (area: Area): Answer => {
    const ofArea = properties.filter((property) => property.area === area);
    if (ofArea.length === 0)
      throw new RefusedSnapshot(
        `the area ${area} has no property: area_property needs a row for each`,
      );
    assertDistinct(
      ofArea.map(({ property }) => property),
      `area ${area}`,
    );
    const members = ofArea.map(({ property, codeList }) => {
      const list = lists.get(codeList) ?? [];
      assertDistinct(list, `list ${codeList}`);
      return `${JSON.stringify(property)}:${JSON.stringify(list)}`;
    });
    return Answer.of(Buffer.from(`{${members.join(',')}}`)); // by hand: an object would move names that look like numbers to the front
  };
  return {
    'order-update': answerOf('order-update'),
    'order-capture-v2': answerOf('order-capture-v2'),
  };
}

/** The database refuses these by its constraints. Whoever drops a constraint must not break the callers. */
function assertDistinct(texts: readonly string[], where: string): void {
  const wrong = texts.find((text, at) => text.trim() === '' || texts.indexOf(text) !== at);
  if (wrong !== undefined)
    throw new RefusedSnapshot(
      `the ${where} holds ${JSON.stringify(wrong)} twice, or an empty name`,
    );
}
