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
])('takes the answer $answer', async ({ answer, isYes }) => {
  const person = terminal();
  person.input.write(answer);
  expect(await isAgreed('Undo this? ', person)).toBe(isYes);
  expect(String(person.output.read())).toContain('Undo this? ');
});

it('takes an input that ends at the question for a no', async () => {
  const person = terminal();
  const answering = isAgreed('Undo this? ', person);
  person.input.end();
  expect(await answering).toBe(false);
});

it.each([{ isInput: false }, { isOutput: false }])('asks nobody if %j', async (lacking) => {
  const person = terminal(lacking);
  person.input.end('yes\n');
  expect(await isAgreed('Undo this? ', person)).toBe(false);
  expect(person.output.read()).toBeNull();
});
