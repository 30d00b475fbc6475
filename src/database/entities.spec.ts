import { expect, it } from '@jest/globals';
import { momentOrAlways, momentOrNever } from './entities.js';

const MOMENT = '2026-11-27T12:00:00.123Z';

it.each([
  { what: 'a Date', value: new Date(MOMENT), momentMs: Date.parse(MOMENT) },
  { what: 'a text of the record of changes', value: MOMENT, momentMs: Date.parse(MOMENT) },
  { what: 'infinity', value: Infinity, momentMs: Infinity },
  { what: 'null', value: null, momentMs: -Infinity },
])('$what is read as milliseconds', ({ value, momentMs }) => {
  expect(momentOrAlways.from(value)).toBe(momentMs);
});

it.each([new Date(NaN), '300000-01-01T00:00:00Z'])(
  'a moment that JavaScript does not know fails, since no comparison with it is true: %p',
  (value) => {
    expect(() => momentOrNever.from(value)).toThrow('not in the years 1 to 9999');
  },
);
