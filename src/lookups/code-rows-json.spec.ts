import { expect, it } from '@jest/globals';
import { codeRowsFromJson, codeRowsToJson } from './code-rows-json.js';
import { ALWAYS, AREAS, type CodeRows } from './code-rows.js';

const ROWS: CodeRows = {
  properties: AREAS.map((area) => ({ area, property: 'p', position: 1, codeList: 'l' })),
  values: [
    { codeList: 'l', value: '10', position: 1, ...ALWAYS },
    { codeList: 'l', value: '9', position: 2, ...ALWAYS, validFromMs: Date.UTC(9999, 11, 31) },
  ],
  records: [{ codeType: 'T', code: '"\\𝄞', description: 'é', ...ALWAYS, validUntilMs: -62_135_596_800_000 }],
};

/** As a file holds it. */
const json = (): Record<keyof CodeRows, Record<string, unknown>[]> => JSON.parse(JSON.stringify(codeRowsToJson(ROWS)));

it('rows are the same after JSON', () => {
  expect(codeRowsFromJson(json())).toEqual(ROWS);
});

it.each([
  { what: 'no object', spoil: () => null },
  { what: 'no list of records', spoil: () => ({ ...json(), records: {} }) },
  { what: 'a record that is none', spoil: () => ({ ...json(), records: [null] }) },
  { what: 'a code that is no text', spoil: () => spoilt('records', 'code', 1) },
  {
    what: 'a description that is missing',
    spoil: () => spoilt('records', 'description', undefined),
  },
  { what: 'a moment that is a text', spoil: () => spoilt('records', 'validFromMs', '2026') },
  { what: 'a position that is no number', spoil: () => spoilt('values', 'position', '1') },
])('rows of another form are refused: $what', ({ spoil }) => {
  expect(() => codeRowsFromJson(spoil())).toThrow('it is damaged');
});

function spoilt(list: keyof CodeRows, field: string, value: unknown): unknown {
  const rows = json();
  return { ...rows, [list]: rows[list].map((row) => ({ ...row, [field]: value })) };
}

it('rows that cannot be served are refused: no property of an area', () => {
  expect(() => codeRowsFromJson({ ...json(), properties: [] })).toThrow('the area order-update has no property');
});

it('a bound that is no moment is refused, since JSON would make no bound of it', () => {
  const record = { codeType: 'T', code: 'C', description: 'D' };
  const records = [{ ...record, validFromMs: NaN, validUntilMs: Infinity }];
  expect(() => codeRowsToJson({ ...ROWS, records })).toThrow('NaN is no moment');
});

it('a name is found twice in its list wherever it stands', () => {
  const { properties, values, records } = json();
  const [first, second] = values;
  const other = { ...first, codeList: 'other' };
  const rows = { properties, records, values: [first, other, second, first] };
  expect(() => codeRowsFromJson(rows)).toThrow('the list "l" holds "10" twice');
});

it.each([
  { value: '', fault: 'holds the empty name ""' },
  { value: ' ', fault: 'holds the empty name " "' },
  { value: '10', fault: 'the list "l" holds "10" twice' },
])('rows that cannot be served are refused: the value "$value" beside "10"', ({ value, fault }) => {
  const { properties, values, records } = json();
  const [first, second] = values;
  const rows = { properties, records, values: [first, { ...second, value }] };
  expect(() => codeRowsFromJson(rows)).toThrow(fault);
});
