import { PassThrough } from 'node:stream';
import { expect, it } from '@jest/globals';
import { isAgreed } from './ask.js';

function terminal({ isInput = true, isOutput = true } = {}) {
  return {
    input: Object.assign(new PassThrough(), { isTTY: isInput }),
    output: Object.assign(new PassThrough(), { isTTY: isOutput }),
  };
}

it.each([
  { answer: 'yes\n', isYes: true },
  { answer: ' Y \n', isYes: true },
  { answer: 'no\n', isYes: false },
  { answer: '\n', isYes: false },
  { answer: 'yesterday\n', isYes: false },
])('asks, and returns $isYes for the answer $answer', async ({ answer, isYes }) => {
  const person = terminal();
  person.input.write(answer);
  expect(await isAgreed('Undo this? ', person)).toBe(isYes);
  expect(String(person.output.read())).toContain('Undo this? ');
});

it('returns false if the input ends before an answer', async () => {
  const person = terminal();
  const answering = isAgreed('Undo this? ', person);
  person.input.end();
  expect(await answering).toBe(false);
});

it.each([
  { what: 'input', options: { isInput: false } },
  { what: 'output', options: { isOutput: false } },
])('returns false without a question if the $what is no terminal', async ({ options }) => {
  const person = terminal(options);
  person.input.end('yes\n');
  expect(await isAgreed('Undo this? ', person)).toBe(false);
  expect(person.output.read()).toBeNull();
});
