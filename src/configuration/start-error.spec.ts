import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { StartError, describeStartFailure } from './start-error.js';

function catchError(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

it.each([
  { what: 'a StartError', error: new StartError('PORT is taken.'), text: 'PORT is taken.' },
  {
    what: 'an error of the operating system',
    error: catchError(() => readFileSync('/nowhere')),
    text: "ENOENT: no such file or directory, open '/nowhere'",
  },
  { what: 'a thrown value that is no error', error: 'a text', text: 'a text' },
])('a start that fails with $what prints only the message', ({ error, text }) => {
  expect(describeStartFailure(error)).toBe(text);
});

it.each([
  { what: 'an error without a code', error: new Error('a fault') },
  { what: 'a TypeError that has a code', error: catchError(() => readFileSync(undefined as never)) },
])('a start that fails with $what prints the stack, because the program is faulty', ({ error }) => {
  expect(describeStartFailure(error)).toMatch(/\n +at .*start-error\.spec/);
});
