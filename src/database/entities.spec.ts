import { expect, it } from '@jest/globals';
import { momentOrAlways, momentOrNever } from './entities.js';

const MOMENT = '2026-11-27T12:00:00.123Z';

it.each([
  { what: 'a Date', value: new Date(MOMENT), momentMs: Date.parse(MOMENT) },
  { what: 'infinity', value: Infinity, momentMs: Infinity },
  { what: 'null', value: null, momentMs: -Infinity },
])('$what is read as milliseconds', ({ value, momentMs }) => {
  expect(momentOrAlways.from(value)).toBe(momentMs);
});

it('a moment that JavaScript does not know fails, since no comparison with it is true', () => {
  expect(() => momentOrNever.from(new Date(NaN))).toThrow('not in the years 1 to 9999');
});
