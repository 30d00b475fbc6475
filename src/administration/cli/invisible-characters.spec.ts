import { expect, it } from '@jest/globals';
import { showInvisible } from './invisible-characters.js';

/** White space, control and format characters, and characters drawn as nothing, in the Unicode version of Node.js. */
const KNOWN_TO_UNICODE = /[\p{White_Space}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u;

it('shows every invisible character of Unicode as an escape, except the space', () => {
  const forgotten: string[] = [];
  for (let codePoint = 0; codePoint <= 0x10ffff; codePoint++) {
    if (codePoint === 0x20) continue;
    const character = String.fromCodePoint(codePoint);
    if (KNOWN_TO_UNICODE.test(character) && showInvisible(character) === character)
      forgotten.push(codePoint.toString(16));
  }
  expect(forgotten).toEqual([]);
});

it.each([
  { what: 'an ordinary space', text: 'On Hold', shown: 'On Hold' },
  { what: 'visible characters', text: 'é𝄞—"\\', shown: 'é𝄞—"\\' },
  { what: 'invisible characters between letters', text: 'A\u200bB\u00adC', shown: 'A\\u200bB\\u00adC' },
  {
    what: 'only invisible characters',
    text: '\u2060\u202e\ufeff\u3164\u2800\u00a0',
    shown: '\\u2060\\u202e\\ufeff\\u3164\\u2800\\u00a0',
  },
  { what: 'control characters, which a terminal obeys', text: '\u001b[2J\u009b2J', shown: '\\u001b[2J\\u009b2J' },
  { what: 'an invisible character after U+FFFF', text: 'tag \u{e0041}', shown: 'tag \\u{e0041}' },
])('shows a text with $what as $shown', ({ text, shown }) => {
  expect(showInvisible(text)).toBe(shown);
});
