import { expect, it } from '@jest/globals';
import { isNamedBy } from './answer.js';

it.each([
  { field: '"tag"', isNamed: true },
  { field: 'W/"tag"', isNamed: true },
  { field: '"other", W/"tag"', isNamed: true },
  { field: '"other","tag"', isNamed: true },
  { field: '*', isNamed: true },
  { field: ' * ', isNamed: true },
  { field: '"a,*,b"', isNamed: false },
  { field: '"other", *', isNamed: false },
  { field: '"tag-gzip"', isNamed: false },
  { field: 'tag', isNamed: false },
  { field: '"tag"-gzip', isNamed: false },
  { field: 'x"tag"', isNamed: false },
  { field: ', "tag" ,,', isNamed: true },
  { field: '"', isNamed: false },
  { field: '', isNamed: false },
])('whether If-None-Match: $field names the entity tag "tag" is $isNamed', ({ field, isNamed }) => {
  expect(isNamedBy(field, '"tag"')).toBe(isNamed);
});
