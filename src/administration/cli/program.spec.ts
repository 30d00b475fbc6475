import { expect, it } from '@jest/globals';
import { type ProgramIo, print, printJson } from './program.js';

/** Returns what `run` writes to standard output. */
function capture(run: (io: ProgramIo) => void): string {
  const texts: string[] = [];
  const stdout = { write: (text: string) => texts.push(text) };
  run({ stdout } as unknown as ProgramIo);
  return texts.join('');
}

it('prints each invisible character of a text as an escape, except line breaks', () => {
  const output = capture((io) => print(io, 'a\u001b[2J\r\u009b\tb\nc\u00a0d\u200be\u{e0041}'));
  expect(output).toBe('a\\u001b[2J\\u000d\\u009b\\u0009b\nc\\u00a0d\\u200be\\u{e0041}\n');
});

it('prints JSON as one line without control characters, which a terminal would obey', () => {
  const value = { name: 'a\u001b[2J\u009b\n\u200b\u{e0041}' };
  const output = capture((io) => printJson(io, value));
  expect(output.match(/\p{Cc}/gu)).toEqual(['\n']);
  expect(JSON.parse(output)).toEqual(value);
});
