import { expect, it } from '@jest/globals';
import { arrangeValues } from './value-order.js';

/** The values A, B and so on, at the positions 10, 20 and so on. */
const present = (values: string) =>
  Array.from(values, (value, index) => ({ value, position: String((index + 1) * 10) }));
const wanted = (values: string) => Array.from(values, (value) => ({ value }));

it.each([
  ['the same order', 'ABC', 'ABC', 'A10 B20 C30'],
  ['another order', 'ABC', 'CAB', 'C10 A20 B30'],
  ['a value in the middle', 'ABC', 'ABXC', 'A10 B20 X30 C31'],
  ['a new value alone, behind all others', 'ABC', 'X', 'A10 B20 C30 X31'],
  ['a value behind one that it names', 'ABC', 'BX', 'A10 B20 C30 X31'],
  ['two values that are not beside each other', 'ABCD', 'AXD', 'A10 B20 C30 X40 D41'],
  ['values that the file lacks behind their neighbours', 'ABCD', 'DA', 'D10 A20 B30 C40'],
  ['the first values of a list', '', 'XY', 'X1 Y2'],
])('arranges %s: %j with %j', (_name, former, file, expected) => {
  const rows = arrangeValues(present(former), wanted(file));
  expect(rows.map(({ value, position }) => `${value}${position}`).join(' ')).toBe(expected);
});
