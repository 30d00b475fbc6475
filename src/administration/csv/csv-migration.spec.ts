import { expect, it } from '@jest/globals';
import { arrangeValues } from './csv-migration.js';

/** Returns a row for each letter, at the positions 10, 20 and so on. */
const present = (values: string) =>
  Array.from(values, (value, index) => ({ value, position: String((index + 1) * 10) }));
const wanted = (values: string) => Array.from(values, (value) => ({ value }));

it.each([
  {
    what: 'all values in the order of the file, which is the same',
    former: 'ABC',
    file: 'ABC',
    expected: 'A10 B20 C30',
  },
  {
    what: 'all values in the order of the file, which is another one',
    former: 'ABC',
    file: 'CAB',
    expected: 'C10 A20 B30',
  },
  { what: 'a value in the middle', former: 'ABC', file: 'ABXC', expected: 'A10 B20 X30 C31' },
  {
    what: 'a new value alone after all others',
    former: 'ABC',
    file: 'X',
    expected: 'A10 B20 C30 X31',
  },
  {
    what: 'a new value after the value that precedes it in the file',
    former: 'ABC',
    file: 'BX',
    expected: 'A10 B20 C30 X31',
  },
  {
    what: 'a new value between two values that are not neighbours',
    former: 'ABCD',
    file: 'AXD',
    expected: 'A10 B20 C30 X40 D41',
  },
  {
    what: 'values that the file lacks after their neighbours',
    former: 'ABCD',
    file: 'DA',
    expected: 'D10 A20 B30 C40',
  },
  { what: 'the first values of a list', former: '', file: 'XY', expected: 'X1 Y2' },
])('puts $what: table $former, file $file', ({ former, file, expected }) => {
  const rows = arrangeValues(present(former), wanted(file));
  expect(rows.map(({ value, position }) => `${value}${position}`).join(' ')).toBe(expected);
});
