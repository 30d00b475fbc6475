// Finds texts that are probably mistakes: a spreadsheet or a script made them, or their characters are damaged. The
// patterns for days and errors depend on no language, because spreadsheets write months and errors in many languages.

/** A short name of a month: Mar, mars or maalis. Later letters must be lower case, because 10-LTL is a code. */
const MONTH = String.raw`\p{L}\p{Ll}{2,5}`;
const DAY_OF_MONTH = String.raw`(?:0?[1-9]|[12]\d|3[01])`;
const YEAR = String.raw`(?:\d{2}|\d{4})`;
const AFTER_DAY = String.raw`(?:-|/|\.|\. )`;
const AFTER_MONTH = String.raw`(?:-|/|\.|\.-)`;
const PERHAPS_YEAR = String.raw`(?:[-./ ]{1,2}\d{2,4})?`;
const DAYS = [
  `${DAY_OF_MONTH}${AFTER_DAY}${MONTH}\\.?${PERHAPS_YEAR}`, // 2-Mar, 02. Mrz, 2-Mar-27
  `${MONTH}${AFTER_MONTH}${YEAR}`, // Mar-27, Mar/27, mar.27, févr.-27
  String.raw`\p{Lu}\p{Ll}{2} \d{2}`, // Mrz 27
  String.raw`(?:\d{4}\p{Lo} ?)?\d{1,2}\p{Lo} ?\d{1,2}\p{Lo}`, // 3月2日
  String.raw`\d{1,2}(?<separator>[-./])\d{1,2}\k<separator>${YEAR}`, // 01.02.2026, 1/2/26
  String.raw`\d{4}(?<dash>[-./])\d{1,2}\k<dash>\d{1,2}(?: \d{1,2}:\d{2}(?::\d{2})?)?`, // 2026-03-01 00:00
].map((day) => new RegExp(`^${day}$`, 'u'));

const ERRORS_AND_PLACEHOLDERS = [
  /^#[¡¿]?[\p{L}\d/_]+[!?]$/u, // #NAME?, #DIV/0!, #¿NOMBRE?
  /^#\p{Lu}[\p{Lu}\d/_]+$/u, // #NV, #N/A
  /^\p{Lu}\p{Ll}+ ?:5\d\d$/u, // Err:502
  /^#{3,}$/, // in a column that is too narrow
  /^\([\p{Ll}\p{Lo} ]+\)$/u, // (blank) in a pivot table
];

const MISSING_VALUES = [
  /^<?n\/?a>?$/i, // n/a, <NA>
  /^(?:nat|-?nan|1\.#ind|1\.#qnan)$/i,
  /^(?:null|none|nil|undefined|\\n)$/i,
  /^\[object object\]$/i,
];

/** In UTF-8, the later bytes of a character are 80 to BF. Windows-1252 reads these bytes as the characters below. */
const LATER_BYTE =
  '[\\u0080-\\u00bf\\u0152\\u0153\\u0160\\u0161\\u0178\\u017d\\u017e\\u0192\\u02c6\\u02dc\\u2013\\u2014\\u2018-\\u201a' +
  '\\u201c-\\u201e\\u2020-\\u2022\\u2026\\u2030\\u2039\\u203a\\u20ac\\u2122]';
const DAMAGE = [
  // UTF-8 read as Windows-1252: the first byte of a character, and as many later bytes as it announces
  `[ÂÃÄÅ]${LATER_BYTE}`, // C2 to C5: ZÃ¼rich
  `(?:[Æ-ß]${LATER_BYTE}){2}`, // C6 to DF: Ð”Ð°. Twice, because É’ alone may be right, as in CAFÉ’S
  `[à-ï]${LATER_BYTE}{2}`, // E0 to EF: Itâ€™s
  `[ð-ô]${LATER_BYTE}{3}`, // F0 to F4: ðŸ˜€
  String.raw`(?:√|‚Ä)\P{ASCII}`, // C3, or E2 and 80, read as Mac OS Roman: Z√ºrich, It‚Äôs
  String.raw`[├┬]\P{ASCII}`, // C3 or C2 read as code page 850: Z├╝rich, 20┬░
  // Windows-1251 reads D0 and D1, the first byte of a Cyrillic letter, as Р and С: РЎРІСЏР·СЊ. So each letter becomes
  // a pair. Three pairs are needed, because the text СССР looks like two
  String.raw`(?:[\u0420\u0421]\P{ASCII}){3}`,
  String.raw`\p{L}\?+\p{L}`, // Z?rich: the encoding of the file lacks the character
  String.raw`^\?+$`, // ????: it lacks all characters of the text
  String.raw`&(?:[a-z]{2,6}|#\d+|#x[\da-f]+);`, // R&amp;D
  String.raw`\p{Co}`, // U+E000, a character of a symbol font
  '锟斤拷', // U+FFFD twice, in UTF-8 read as GBK
].map((damage) => new RegExp(damage, 'u'));

/** A text gets the mark if it has one of the forms. */
interface Look {
  readonly mark: string;
  readonly forms: readonly RegExp[];
}

const LOOKS: readonly Look[] = [
  { mark: 'looks like a day that a spreadsheet made', forms: DAYS },
  { mark: 'looks like a time of day that a spreadsheet made', forms: [/^\d{1,2}:\d{2}(?::\d{2})?(?: ?[AP]M)?$/i] },
  { mark: 'looks like a number with an exponent that a spreadsheet made', forms: [/^-?\d+(?:[.,]\d+)?E[+-]?\d+$/i] },
  { mark: 'looks like a long number that a spreadsheet cut to fifteen digits', forms: [/^-?\d{15}0+$/] },
  { mark: 'looks like a truth value that a spreadsheet made', forms: [/^(?:true|false)$/i] },
  { mark: 'looks like an error or a placeholder that a spreadsheet made', forms: ERRORS_AND_PLACEHOLDERS },
  { mark: 'looks like a missing value that a script made', forms: MISSING_VALUES },
  { mark: 'looks like a whole number that a script made a decimal', forms: [/^-?\d+[.,]0+$/] },
  { mark: 'is a formula', forms: [/^=/, /^[-+@]\p{Lu}[\p{Lu}.]*\(/u] }, // =A2&B2, +SUM(A1)
  { mark: 'begins with the apostrophe that keeps a number as text in a spreadsheet', forms: [/^['\u2019][-+=]?\d/] },
  { mark: 'has damaged characters: a program has read or written it in a wrong encoding', forms: DAMAGE },
  { mark: 'has U+FFFD, the sign of a character that a program could not read', forms: [/\ufffd/] },
];

/** Letters of one of these alphabets may look like letters of another one. */
const ALPHABETS = ['Latin', 'Cyrillic', 'Greek', 'Armenian', 'Georgian', 'Cherokee', 'Coptic', 'Hebrew', 'Arabic'];
const LETTERS = ALPHABETS.map((alphabet) => ({ alphabet, form: new RegExp(`\\p{Script=${alphabet}}`, 'u') }));

/** Returns marks such as "looks like a day that a spreadsheet made". */
export function describeLooks(text: string): string[] {
  const composed = text.normalize('NFC');
  const looks = LOOKS.filter(({ forms }) => forms.some((form) => form.test(composed)));
  const marks = looks.map(({ mark }) => mark);
  for (const word of composed.match(/[\p{L}\p{M}]+/gu) ?? []) {
    const alphabets = LETTERS.filter(({ form }) => form.test(word)).map(({ alphabet }) => alphabet);
    if (alphabets.length > 1) marks.push(`has letters of ${alphabets.join(' and ')} in one word`);
  }
  return [...new Set(marks)];
}
