import { expect, it } from '@jest/globals';
import { arrangeValues } from './csv-migration.js';

/**
 * Returns a row for each letter, with the positions 10, 20, 30 and so on. `arrangeValues` gives these positions to the
 * first values of its result. Further values get the next numbers: 31 after 30.
 */
const inTable = (values: string) =>
  Array.from(values, (value, index) => ({ value, position: String((index + 1) * 10) }));
const inFile = (values: string) => Array.from(values, (value) => ({ value }));

it.each([
  {
    what: 'all values in the order of the file, if the table has the same order',
    table: 'ABC',
    file: 'ABC',
    expected: 'A10 B20 C30',
  },
  {
    what: 'all values in the order of the file, if the table has another order',
    table: 'ABC',
    file: 'CAB',
    expected: 'C10 A20 B30',
  },
  { what: 'a new value in the middle', table: 'ABC', file: 'ABXC', expected: 'A10 B20 X30 C31' },
  {
    what: 'a new value after all values of the table, if the file has only the new value',
    table: 'ABC',
    file: 'X',
    expected: 'A10 B20 C30 X31',
  },
  {
    what: 'a new value after the value that precedes it in the file',
    table: 'ABC',
    file: 'BX',
    expected: 'A10 B20 C30 X31',
  },
  {
    what: 'a new value between two values that are not neighbours in the table',
    table: 'ABCD',
    file: 'AXD',
    expected: 'A10 B20 C30 X40 D41',
  },
  {
    what: 'values that the file lacks after the values that precede them in the table',
    table: 'ABCD',
    file: 'DA',
    expected: 'D10 A20 B30 C40',
  },
  { what: 'the values of the file into an empty list', table: '', file: 'XY', expected: 'X1 Y2' },
])('puts $what: table $table, file $file', ({ table, file, expected }) => {
  const rows = arrangeValues(inTable(table), inFile(file));
  expect(rows.map(({ value, position }) => `${value}${position}`).join(' ')).toBe(expected);
});
