/**
 * Characters that people cannot see or type in a name, a code or a client: white space but the blank, format characters
 * (category Cf), and what is drawn as nothing (property Default_Ignorable_Code_Point, and the empty Braille pattern).
 * They are written out, since each version of Node.js knows another version of Unicode. The function `is_visible` of
 * the database has the same; a test compares them.
 */
const INVISIBLE_CHARACTERS = new RegExp(
  [
    '[\\u0009-\\u000d\\u0085\\u00a0\\u00ad\\u034f\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890\\u0891\\u08e2',
    '\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f',
    '\\u2800\\u3000\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\u{110bd}\\u{110cd}',
    '\\u{13430}-\\u{1343f}\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]',
  ].join(''),
  'gu',
);

/** Values that spreadsheets write where a formula failed or a column was too narrow, in any language. */
const SPREADSHEET_ERRORS = [
  /^#[¡¿]?[\p{Lu}\d/_]+[!?]$/u, // #NAME?, #REF!, #DIV/0!, #¿NOMBRE?
  /^#(N\/A|N\/D|NV|GETTING_DATA)$/,
  /^Err:\d{3}$/,
  /^#{3,}$/,
];

/** 123456789012345678 becomes this in a column that is not formatted as text. */
const REWRITTEN_NUMBER = /^-?\d+([.,]\d+)?E[+-]\d+$/;

/** The invisible characters of a text as `U+200B`, each once. */
export function invisibleCharactersOf(text: string): string[] {
  const found = text.match(INVISIBLE_CHARACTERS) ?? [];
  return [...new Set(found)].map((character) => `U+${hexOf(character).toUpperCase().padStart(4, '0')}`);
}

/** The text with its invisible characters as `\u200b`, for people. */
export function showInvisible(text: string): string {
  return text.replace(INVISIBLE_CHARACTERS, escapeOf);
}

export function isSpreadsheetError(text: string): boolean {
  return SPREADSHEET_ERRORS.some((form) => form.test(text));
}

/** Whether a spreadsheet may have taken the text for a number, and written it anew. */
export function looksRewritten(text: string): boolean {
  return REWRITTEN_NUMBER.test(text);
}

function escapeOf(character: string): string {
  const hex = hexOf(character);
  return hex.length <= 4 ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`;
}

function hexOf(character: string): string {
  const codePoint = character.codePointAt(0) ?? 0;
  return codePoint.toString(16);
}
