import { expect, it } from '@jest/globals';
import { AREAS, assertAreas } from './code-rows.js';

const PROPERTIES = AREAS.map((area) => ({ area, property: 'p', position: 1, codeList: 'l' }));
const NO_ROWS = { properties: [], values: [], records: [] };

it('accepts codes if each area has a property', () => {
  expect(() => assertAreas({ ...NO_ROWS, properties: PROPERTIES })).not.toThrow();
});

it.each(AREAS)('refuses codes if the area %s has no property', (area) => {
  const properties = PROPERTIES.filter((property) => property.area !== area);
  expect(() => assertAreas({ ...NO_ROWS, properties })).toThrow(`the area ${area} has no property`);
});
