import { expect, it } from '@jest/globals';
import { invisibleCharactersOf, isSpreadsheetError, looksRewritten, showInvisible } from './characters.js';

/** All that this version of Node.js knows to be white space, a format character, or drawn as nothing. */
const KNOWN_TO_UNICODE = /[\p{White_Space}\p{Cf}\p{Default_Ignorable_Code_Point}]/u;

it('names every character that Unicode calls invisible, but not the blank', () => {
  const forgotten: string[] = [];
  for (let codePoint = 0x21; codePoint <= 0x10ffff; codePoint++) {
    const character = String.fromCodePoint(codePoint);
    if (KNOWN_TO_UNICODE.test(character) && invisibleCharactersOf(character).length === 0)
      forgotten.push(codePoint.toString(16));
  }
  expect(forgotten).toEqual([]);
});

it.each([
  { text: 'On Hold', names: [] },
  { text: 'é𝄞—"\\', names: [] },
  { text: 'A\u200bB\u00adC\u200b', names: ['U+200B', 'U+00AD'] },
  {
    text: '\u2060\u202e\ufeff\u3164\u2800\u00a0',
    names: ['U+2060', 'U+202E', 'U+FEFF', 'U+3164', 'U+2800', 'U+00A0'],
  },
  { text: 'tag \u{e0041}', names: ['U+E0041'] },
])('names the invisible characters of $text', ({ text, names }) => {
  expect(invisibleCharactersOf(text)).toEqual(names);
});

it('shows invisible characters as escapes', () => {
  expect(showInvisible('A\u200bB \u{e0041}')).toBe('A\\u200bB \\u{e0041}');
});

it.each([
  ...['#NAME?', '#N/A', '#NV', '#REF!', '#DIV/0!', '#WERT!', '#ÜBERLAUF!', '#¿NOMBRE?'],
  ...['Err:502', '########', '###'],
])('knows %s as an error of a spreadsheet', (text) => {
  expect(isSpreadsheetError(text)).toBe(true);
});

it.each(['', '#', '#1', '#A', 'NAME?', '#N/A ', 'a ###', '# NAME?'])('takes %j as it is', (text) => {
  expect(isSpreadsheetError(text)).toBe(false);
});

it('knows numbers that a spreadsheet wrote anew', () => {
  const texts = ['1.23457E+17', '1,23457E+17', '1E+05', '-2.5E-07', '1E5', '12E', 'E+17', '1.5'];
  expect(texts.filter(looksRewritten)).toEqual(['1.23457E+17', '1,23457E+17', '1E+05', '-2.5E-07']);
});
