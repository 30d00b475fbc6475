import { expect, it } from '@jest/globals';
import { nullIsNever, nullIsPast } from './entities.js';

const TIME = '2026-11-27T12:00:00.123Z';

it.each([
  { what: 'a Date', value: new Date(TIME), timeMs: Date.parse(TIME) },
  { what: 'infinity', value: Infinity, timeMs: Infinity },
  { what: 'null', value: null, timeMs: -Infinity },
])('nullIsPast reads $what as $timeMs ms', ({ value, timeMs }) => {
  expect(nullIsPast.from(value)).toBe(timeMs);
});

it('a time outside the range of a Date is an error, because each comparison with it would be false', () => {
  expect(() => nullIsNever.from(new Date(NaN))).toThrow('a time is outside the range of a JavaScript Date');
});
