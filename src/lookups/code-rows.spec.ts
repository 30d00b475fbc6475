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
  {
    value: '',
    fault: 'code_list_value.value is blank or has a control character: "", where code_list is "l", value is ""',
  },
  { value: ' ', fault: 'code_list_value.value is blank or has a control character: " "' },
])('rows are refused with the value "$value"', ({ value, fault }) => {
  expect(() => assertServable({ ...ROWS, values: [VALUE, { ...VALUE, value }] })).toThrow(fault);
});

const BLANK = 'is blank or has a control character';
it.each([
  { column: 'code_type', broken: { codeType: null }, fault: 'is no text: null, where code_type is null, code is "C"' },
  { column: 'code_type', broken: { codeType: 'T\u0001' }, fault: `${BLANK}: "T\\u0001", where ` },
  { column: 'code', broken: { code: 1 }, fault: 'is no text: 1, where code_type is "T", code is 1' },
  {
    column: 'description',
    broken: { description: null },
    fault: 'is no text: null, where code_type is "T", code is "C"',
  },
  { column: 'description', broken: { description: '' }, fault: `${BLANK}: ""` },
  { column: 'description', broken: { description: 'D\u0085' }, fault: `${BLANK}: "D\u0085"` },
])('rows are refused with what the contract forbids in $column: $broken', ({ column, broken, fault }) => {
  const records = [RECORD, { ...RECORD, ...broken }] as CodeRows['records'];
  expect(() => assertServable({ ...ROWS, records })).toThrow(`communication_code.${column} ${fault}`);
});
