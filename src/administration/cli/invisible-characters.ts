/**
 * The characters that the database's function `is_visible` refuses. `is_clean` refuses the control characters that are
 * missing here. Do not use `\p{Cf}`: Node.js may have another version of Unicode than the database's function.
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
const CONTROL_CHARACTERS = /\p{Cc}/gu;

/** Escapes invisible characters, as in `\u200b`, and the control characters, which a terminal would obey. */
export function showInvisible(text: string): string {
  return showControlCharacters(text.replace(INVISIBLE_CHARACTERS, escapeCharacter));
}

/** Escapes control characters alone. Use it for JSON, which permits `\u009b`, but not `\u{e0041}`. */
export function showControlCharacters(text: string): string {
  return text.replace(CONTROL_CHARACTERS, escapeCharacter);
}

function escapeCharacter(character: string): string {
  const hex = Number(character.codePointAt(0)).toString(16);
  return hex.length <= 4 ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`;
}
