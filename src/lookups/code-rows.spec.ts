import { expect, it } from '@jest/globals';
import { ALWAYS, AREAS, type CodeRows, assertServable } from './code-rows.js';

const VALUE = { codeList: 'l', value: '10', position: 1, ...ALWAYS };
const PROPERTIES = AREAS.map((area) => ({ area, property: 'p', position: 1, codeList: 'l' }));
const RECORD = { codeType: 'T', code: 'C', description: 'D', ...ALWAYS };
const ROWS: CodeRows = {
  properties: PROPERTIES,
  values: [VALUE, { ...VALUE, value: '9' }],
  records: [RECORD],
};

it('rows of a database with its constraints are served', () => {
  expect(() => assertServable(ROWS)).not.toThrow();
});

it('rows without a property of an area are refused', () => {
  expect(() => assertServable({ ...ROWS, properties: [] })).toThrow('the area order-update has no property');
});

it.each([
  {
    place: 'area',
    twice: { properties: [...PROPERTIES, ...PROPERTIES] },
    fault: 'the area "order-update" holds "p" twice',
  },
  { place: 'code type', twice: { records: [RECORD, RECORD] }, fault: 'the code type "T" holds "C" twice' },
])('rows are refused with a name twice in its $place', ({ twice, fault }) => {
  expect(() => assertServable({ ...ROWS, ...twice })).toThrow(fault);
});

it('a name is found twice in its list wherever it stands', () => {
  const other = { ...VALUE, codeList: 'other' };
  const values = [VALUE, other, { ...VALUE, value: '9' }, VALUE];
  expect(() => assertServable({ ...ROWS, values })).toThrow('the list "l" holds "10" twice');
});

it.each([
  { value: '', fault: 'holds the empty name ""' },
  { value: ' ', fault: 'holds the empty name " "' },
])('rows are refused with the value "$value"', ({ value, fault }) => {
  expect(() => assertServable({ ...ROWS, values: [VALUE, { ...VALUE, value }] })).toThrow(fault);
});
