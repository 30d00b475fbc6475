import { expect, it } from '@jest/globals';
import { namesTag } from './answer.js';

it.each([
  '"tag"',
  'W/"tag"',
  '"other", W/"tag"',
  '"other","tag"',
  ', "tag" ,,', // a list may have empty elements (RFC 9110 section 5.6.1)
  '*',
  ' * ',
])('If-None-Match: %s names the entity tag "tag"', (field) => {
  expect(namesTag(field, '"tag"')).toBe(true);
});

it.each([
  '"a,*,b"', // one tag that contains commas
  '"other", *', // `*` is valid only alone
  '"tag-gzip"',
  'tag',
  '"tag"-gzip',
  'x"tag"',
  '"',
  '',
])('If-None-Match: %s does not name the entity tag "tag"', (field) => {
  expect(namesTag(field, '"tag"')).toBe(false);
});
